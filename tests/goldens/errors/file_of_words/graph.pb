Dear reader, this is no graph.
Dear reader, this is no graph.
Dear reader, this is no graph.
