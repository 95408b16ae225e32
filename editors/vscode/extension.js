// SPDX-License-Identifier: Apache-2.0
//
// A client of `tern lsp` without dependencies: mistakes, hover, definitions and outline of .tir files.
"use strict";

const child_process = require("child_process");
const vscode = require("vscode");

class Server {
  constructor(path, onDiagnostics) {
    this.waiting = new Map();
    this.next = 0;
    this.buffer = Buffer.alloc(0);
    this.onDiagnostics = onDiagnostics;
    this.process = child_process.spawn(path, ["lsp"], { stdio: ["pipe", "pipe", "ignore"] });
    this.process.on("error", (error) => vscode.window.showWarningMessage(
      `Tern: ${path} cannot be started (${error.message}); the setting tern.path names the program.`));
    this.process.stdin.on("error", () => {});
    this.process.stdout.on("data", (data) => this.read(data));
    this.request("initialize", { processId: process.pid, rootUri: null, capabilities: {} }).then(() => this.notify("initialized", {}));
  }

  send(message) {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }
  notify(method, params) { this.send({ method, params }); }
  request(method, params) {
    const id = ++this.next;
    this.send({ id, method, params });
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  read(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const end = this.buffer.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/Content-Length: (\d+)/.exec(this.buffer.toString("ascii", 0, end))[1]);
      if (this.buffer.length < end + 4 + length) return;
      const message = JSON.parse(this.buffer.toString("utf8", end + 4, end + 4 + length));
      this.buffer = this.buffer.subarray(end + 4 + length);
      if (message.method === "textDocument/publishDiagnostics") this.onDiagnostics(message.params);
      const resolve = this.waiting.get(message.id);
      if (resolve) {
        this.waiting.delete(message.id);
        resolve(message.result ?? null);
      }
    }
  }

  stop() {
    this.request("shutdown", null).then(() => this.notify("exit", null));
  }
}

const toRange = ({ start, end }) => new vscode.Range(start.line, start.character, end.line, end.character);
const place = (document, position) => ({
  textDocument: { uri: document.uri.toString() },
  position: { line: position.line, character: position.character },
});

function toSymbol(item) {
  const kind = item.children.length || item.detail !== "block" ? vscode.SymbolKind.Function : vscode.SymbolKind.Object;
  const symbol = new vscode.DocumentSymbol(item.name, item.detail, kind, toRange(item.range), toRange(item.selectionRange));
  symbol.children = item.children.map((child) => toSymbol({ children: [], ...child }));
  return symbol;
}

let server = null;

function activate(context) {
  const shown = vscode.languages.createDiagnosticCollection("tern");
  server = new Server(vscode.workspace.getConfiguration("tern").get("path"), ({ uri, diagnostics }) => {
    shown.set(vscode.Uri.parse(uri), diagnostics.map(({ range, message }) =>
      Object.assign(new vscode.Diagnostic(toRange(range), message, vscode.DiagnosticSeverity.Error), { source: "tern" })));
  });
  const is_ours = (document) => document.languageId === "tir";
  const open = (document) => is_ours(document) && server.notify("textDocument/didOpen", {
    textDocument: { uri: document.uri.toString(), languageId: "tir", version: document.version, text: document.getText() },
  });
  vscode.workspace.textDocuments.forEach(open);
  context.subscriptions.push(
    shown,
    vscode.workspace.onDidOpenTextDocument(open),
    vscode.workspace.onDidChangeTextDocument(({ document }) => is_ours(document) && server.notify("textDocument/didChange", {
      textDocument: { uri: document.uri.toString(), version: document.version },
      contentChanges: [{ text: document.getText() }],
    })),
    vscode.workspace.onDidCloseTextDocument((document) => is_ours(document) && server.notify("textDocument/didClose", {
      textDocument: { uri: document.uri.toString() },
    })),
    vscode.languages.registerHoverProvider("tir", {
      async provideHover(document, position) {
        const result = await server.request("textDocument/hover", place(document, position));
        return result && new vscode.Hover(new vscode.MarkdownString(result.contents.value));
      },
    }),
    vscode.languages.registerDefinitionProvider("tir", {
      async provideDefinition(document, position) {
        const result = await server.request("textDocument/definition", place(document, position));
        return result && new vscode.Location(vscode.Uri.parse(result.uri), toRange(result.range));
      },
    }),
    vscode.languages.registerDocumentSymbolProvider("tir", {
      async provideDocumentSymbols(document) {
        const result = await server.request("textDocument/documentSymbol", { textDocument: { uri: document.uri.toString() } });
        return (result || []).map(toSymbol);
      },
    }));
}

function deactivate() {
  if (server) server.stop();
}

module.exports = { activate, deactivate };
