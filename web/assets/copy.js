// Without this script, or without a clipboard, the link can be copied by hand.
const button = document.getElementById("copy");
if (navigator.clipboard) {
	button.hidden = false;
	button.addEventListener("click", async () => {
		await navigator.clipboard.writeText(document.getElementById("short").textContent);
		button.textContent = "Copied";
		setTimeout(() => { button.textContent = "Copy"; }, 2000);
	});
}
