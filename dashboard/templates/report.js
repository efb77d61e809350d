"use strict";
const table = document.getElementById("agents");
const rows = [...table.tBodies[0].rows];
const field = document.getElementById("filter");
for (const part of document.querySelectorAll(".js")) part.classList.remove("js");
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/);
  let shown = 0;
  for (const row of rows) {
    const text = row.cells[0].textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    shown += !row.hidden;
  }
  document.getElementById("told").textContent = `${shown} of ${rows.length}`;
});
for (const [place, head] of [...table.tHead.rows[0].cells].entries()) {
  const button = head.querySelector("button");
  if (!button) continue;
  button.disabled = false;
  button.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") !== "descending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => row.cells[place].dataset.v ?? row.cells[place].textContent.trim();
    const order = (one, other) => {
      const a = value(one), b = value(other);
      if (a === "" || b === "") return (a === "") - (b === "");
      const by = isNaN(a) || isNaN(b) ? a.localeCompare(b) : a - b;
      return down ? -by : by;
    };
    table.tBodies[0].append(...rows.sort(order));
  });
}
