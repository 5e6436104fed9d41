"use strict";

// Swagger UI has a dark mode, but leaves it to the page when to use it.
const dark = matchMedia("(prefers-color-scheme: dark)");
const show = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", show);
show();

SwaggerUIBundle({
	url: "/api/v1/openapi.json",
	dom_id: "#api",
	deepLinking: true,
	docExpansion: "list",
	defaultModelsExpandDepth: 0,
	displayRequestDuration: true,
	// A key that is typed in is gone with the page.
	persistAuthorization: false,
	// No address of another site is asked, for whatever is described.
	validatorUrl: null,
	oauth2RedirectUrl: null,
});
