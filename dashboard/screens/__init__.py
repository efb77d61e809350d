"""The screens of the dashboard. They read what the application loaded and never a file of their own accord."""
