// Tables of a page: a click on a head sorts, and long ones get a box that filters their rows.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], rows = body ? [...body.rows] : [], heads = table.tHead ? [...table.tHead.rows[0].cells] : [];
  if (rows.length < 4 || !heads.length) continue;
  heads.forEach((head, at) => {
    if (!head.textContent) return;
    const button = document.createElement("button");
    button.className = "rk-sort";
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = row => row.cells[at]?.textContent.trim() ?? "", number = row => parseFloat(text(row).replace(/[,%\s]/g, ""));
      const order = (a, b) => {
        const [x, y] = [number(a), number(b)];
        if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y) || text(a).localeCompare(text(b));
        return x - y;
      };
      body.append(...[...body.rows].sort((a, b) => down ? order(b, a) : order(a, b)));
    };
  });
  if (rows.length < 12) continue;
  const filter = document.createElement("input");
  Object.assign(filter, {className: "rk-filter", type: "search", placeholder: `Filter ${rows.length} rows`, ariaLabel: "Filter the rows of this table"});
  filter.oninput = () => rows.forEach(row => { row.hidden = !row.textContent.toLowerCase().includes(filter.value.toLowerCase()); });
  table.parentElement.before(filter);
}
// A section opens when the page is sent to it, and all do on paper.
const reveal = () => document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest("details")?.setAttribute("open", "");
addEventListener("hashchange", reveal);
reveal();
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(one => { one.open = true; }));
