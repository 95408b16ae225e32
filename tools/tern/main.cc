// SPDX-License-Identifier: Apache-2.0
//
// tern: compile, run and look at tensor programs.
#include <cstdio>
#include <cstring>

#include "tern/compile.h"
#include "tools/tern/commands.h"

int main(int argc, char** argv) {
  CLI::App app("tern compiles tensor programs for any device, into one file, and runs them.", "tern");
  app.require_subcommand(1);
  app.set_version_flag("--version", TERN_VERSION);
  int exit_code = 0;
  tern::tools::AddCompileCommand(&app);
  tern::tools::AddRunCommand(&app, &exit_code);
  tern::tools::AddInspectCommand(&app);
  tern::tools::AddOptCommand(&app);
  tern::tools::AddTargetsCommand(&app);
  tern::tools::AddCtsCommand(&app, &exit_code);
  try {
    tern::Initialize();
    app.parse(argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    int code = app.exit(error);
    return code == 0 ? 0 : 2;
  } catch (const tern::Error& error) {
    // Diagnostics carry their own "file:line:col: error:".
    bool located = std::strstr(error.what(), ": error: ") != nullptr;
    std::fprintf(stderr, "%s%s\n", located ? "" : "tern: error: ", error.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern: error: %s\n", error.what());
  }
  return 2;
}
