// What script adds to pages that read without it: sorting in place, values on hover, `t` for a chart's table, live updates.
"use strict";

(() => {
  const root = document.documentElement;
  const main = () => document.getElementById("main");

  // light or dark, kept on this machine
  const kept = (() => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  })();
  if (kept && !root.dataset.theme) {
    root.dataset.theme = kept;
  }
  const theme = document.getElementById("theme");
  if (theme) {
    theme.hidden = false;
    theme.addEventListener("click", () => {
      const dark = root.dataset.theme
        ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
      try {
        localStorage.setItem("theme", root.dataset.theme);
      } catch {
        // a machine that keeps nothing keeps no theme either
      }
    });
  }

  // a choice shows at once
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto]");
    if (form && event.target.matches("select")) {
      form.requestSubmit();
    }
  });

  // Sorting in place by what the server wrote; the address says it, so that the page can be sent to somebody.
  const value = (row, column) => {
    const cell = row.cells[column];
    // a number that is shown exactly where it is pointed at is not written twice
    const exact = cell && cell.matches(".n:not(.unknown)") ? cell.title : "";
    const raw = (cell && cell.dataset.v) || exact || undefined;
    return raw === undefined ? { text: cell ? cell.textContent.trim() : "" } : { raw };
  };
  // decimals compare as text: whole digits first, then what follows the point
  const decimal = (a, b) => {
    const [x, y] = [a, b].map((t) => ({ minus: t.startsWith("-"), parts: t.replace("-", "").split(".") }));
    if (x.minus !== y.minus) {
      return x.minus ? -1 : 1;
    }
    const whole = (v) => v.parts[0].replace(/^0+(?=\d)/, "");
    const [p, q] = [whole(x), whole(y)];
    const order =
      p.length - q.length ||
      (p < q ? -1 : p > q ? 1 : 0) ||
      (() => {
        const [r, s] = [x.parts[1] || "", y.parts[1] || ""];
        const length = Math.max(r.length, s.length);
        const [u, v] = [r.padEnd(length, "0"), s.padEnd(length, "0")];
        return u < v ? -1 : u > v ? 1 : 0;
      })();
    return x.minus ? -order : order;
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("table[data-sortable] thead th a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    const table = link.closest("table");
    // a table that was cut is sorted by the server, over all of its rows
    if (table.parentElement.nextElementSibling && /\d/.test(table.parentElement.nextElementSibling.firstChild?.data || "")) {
      return;
    }
    event.preventDefault();
    const head = link.closest("th");
    const column = [...head.parentElement.cells].indexOf(head);
    const number = head.classList.contains("n");
    const before = head.getAttribute("aria-sort");
    const way = before ? (before === "descending" ? "ascending" : "descending") : number ? "descending" : "ascending";
    const sign = way === "descending" ? -1 : 1;
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => {
      const [x, y] = [value(a, column), value(b, column)];
      if (number) {
        if (x.raw === undefined || y.raw === undefined) {
          return (x.raw === undefined) - (y.raw === undefined);
        }
        return sign * decimal(x.raw, y.raw);
      }
      return sign * (x.text < y.text ? -1 : x.text > y.text ? 1 : 0);
    });
    table.tBodies[0].append(...rows);
    for (const other of head.parentElement.cells) {
      other.removeAttribute("aria-sort");
    }
    head.setAttribute("aria-sort", way);
    const url = new URL(link.href);
    const sort = (url.searchParams.get("sort") || "").replace(/:(asc|desc)$/, way === "descending" ? ":desc" : ":asc");
    url.searchParams.set("sort", sort);
    history.replaceState(null, "", url);
  });

  // values of charts where the pointer is
  const hover = document.createElement("div");
  hover.id = "hover";
  hover.hidden = true;
  hover.setAttribute("aria-hidden", "true");
  document.body.append(hover);
  document.addEventListener("pointermove", (event) => {
    const mark = event.target instanceof Element ? event.target.closest(".chart rect, .chart g, .chart .curve") : null;
    const title = mark && mark.querySelector(":scope > title");
    hover.hidden = !title;
    if (title) {
      hover.textContent = title.textContent;
      hover.style.left = `${Math.min(event.pageX + 12, window.scrollX + window.innerWidth - 240)}px`;
      hover.style.top = `${event.pageY + 14}px`;
    }
  });

  // keys
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) {
      return;
    }
    if (event.key === "t") {
      const near = event.target.closest("figure, section");
      const all = [...(near || document).querySelectorAll("details.as-table")];
      const tables = all.length ? all : [...document.querySelectorAll("details.as-table")];
      const open = tables.some((d) => !d.open);
      tables.forEach((d) => (d.open = open));
    } else if (event.key === "/") {
      const first = document.querySelector("main select, main input:not([type=hidden])");
      if (first) {
        event.preventDefault();
        first.focus();
      }
    } else if (event.key === "s") {
      const head = document.querySelector("table[data-sortable] thead th a");
      if (head) {
        head.focus();
      }
    }
  });

  // New data: a page that nobody is typing in is renewed, another says that there is more.
  const live = document.getElementById("live");
  const busy = () =>
    [...document.querySelectorAll("main form.act input, main form.act textarea")].some(
      (field) => field.value !== field.defaultValue || field.checked !== field.defaultChecked
    ) || document.querySelector("main details[open]");
  const offer = () => {
    live.hidden = false;
    live.textContent = `${live.dataset.text} `;
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = live.dataset.reload;
    live.append(link);
  };
  let waiting = 0;
  const renew = async () => {
    waiting = 0;
    if (busy()) {
      offer();
      return;
    }
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" }, credentials: "same-origin" });
      const text = answer.ok ? await answer.text() : "";
      const made = new DOMParser().parseFromString(text, "text/html").getElementById("main");
      if (made && !busy()) {
        main().replaceChildren(...made.childNodes);
      }
    } catch {
      offer();
    }
  };
  const soon = () => {
    if (!waiting) {
      waiting = setTimeout(renew, 1500);
    }
  };
  if (live && document.querySelector("nav") && "EventSource" in window) {
    const events = new EventSource("/api/v1/events");
    for (const kind of ["build", "period", "case"]) {
      events.addEventListener(kind, soon);
    }
    window.addEventListener("pagehide", () => events.close());
  }
})();
