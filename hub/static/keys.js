// Escape closes the form that has the focus and gives the focus to what opened it.
document.addEventListener("keydown", (event) => {
  const open = event.key === "Escape" && event.target.closest(".act[open]");
  if (!open) return;
  open.open = false;
  open.querySelector("summary").focus();
});
