"""What a person looks at: tables in the terminal now; reads snapshot, audit log and cache, never writes."""
