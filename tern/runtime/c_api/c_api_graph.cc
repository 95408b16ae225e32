// SPDX-License-Identifier: Apache-2.0
//
// Graphs for C.
#include <memory>

#include "tern/runtime/c_api.h"
#include "tern/runtime/c_api/c_api_error.h"
#include "tern/runtime/graph.h"

struct TernCapture {
  tern::runtime::Capture capture;
};

struct TernGraph {
  tern::runtime::Graph graph;
};

using tern::runtime::Try;

int tern_capture_begin(TernDevice device, void* stream, TernCapture** capture) {
  return Try([&] { *capture = new TernCapture{{device, stream}}; });
}

int tern_capture_end(TernCapture* capture, TernGraph** graph) {
  std::unique_ptr<TernCapture> owned(capture);
  return Try([&] {
    TERN_CHECK(owned) << "tern_capture_end: the capture is NULL";
    if (graph) *graph = new TernGraph{tern::runtime::Graph(owned->capture)};
  });
}

int tern_graph_update(TernGraph* graph, TernCapture* capture) {
  std::unique_ptr<TernCapture> owned(capture);
  return Try([&] {
    TERN_CHECK(graph && owned) << "tern_graph_update: the graph or the capture is NULL";
    graph->graph.Update(owned->capture);
  });
}

int tern_graph_launch(TernGraph* graph) {
  return Try([&] {
    TERN_CHECK(graph) << "tern_graph_launch: the graph is NULL";
    graph->graph.Launch();
  });
}

int tern_graph_free(TernGraph* graph) {
  std::unique_ptr<TernGraph> owned(graph);
  return Try([&] {
    if (owned) owned->graph.Destroy();
  });
}
