// SPDX-License-Identifier: Apache-2.0

// For pages without modules: <script src="global.js"></script> makes `tern` a promise of the module.
globalThis.tern = import(new URL("tern.js", document.currentScript.src));
