/// Whoever read what this process writes has gone away.
struct BrokenPipe: Error {}
