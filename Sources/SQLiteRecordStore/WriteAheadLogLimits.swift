/// Lengths of the write-ahead log, in pages of 4 KiB, at which the writer moves it into the database file.
struct WriteAheadLogLimits: Sendable {
    /// From here on it moves what no reader needs any more, without waiting for anybody.
    var checkpoint = 8192
    /// From here on it also waits a moment for the readers, so that the log can begin anew although there is always one: 48 MiB.
    var restart = 12_288

    /// Pages that the log grows by before a restart that readers prevented is tried again: each try may cost the writer
    /// ``readerPatience``.
    var retry: Int { checkpoint / 16 }

    /// How long the writer waits for readers, in seconds. A read is over within milliseconds, unless it looks at very much.
    static let readerPatience = 0.05
}
