
"use strict";
{
  const files = [...document.querySelectorAll(".file")];
  const filter = document.getElementById("filter");
  const shown = () => files.filter((file) => !file.classList.contains("away"));
  let at = -1;

  document.querySelector(".tools").hidden = false;
  document.getElementById("unfold").onclick = () => shown().forEach((file) => { file.open = true; });
  document.getElementById("fold").onclick = () => shown().forEach((file) => { file.open = false; });

  // A folded file opens when something leads to it.
  const arrive = () => {
    const file = /^#f\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    if (file) {
      file.open = true;
      file.scrollIntoView();
    }
  };
  addEventListener("hashchange", arrive);
  arrive();

  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a.parentElement]));
  filter.oninput = () => {
    const wanted = filter.value.toLowerCase();
    for (const file of files) {
      const away = !file.querySelector(".path").textContent.toLowerCase().includes(wanted);
      file.classList.toggle("away", away);
      links.get(file.id)?.classList.toggle("away", away);
    }
    at = -1;
  };

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === filter) {
      return;
    }
    const list = shown();
    if (event.key === "/") {
      event.preventDefault();
      filter.focus();
    } else if ((event.key === "j" || event.key === "k") && list.length > 0) {
      at = Math.min(Math.max(at + (event.key === "j" ? 1 : -1), 0), list.length - 1);
      list[at].querySelector("summary").focus();
      list[at].scrollIntoView();
    } else if (event.key === "o" && list[at]) {
      list[at].open = !list[at].open;
    }
  });
}
