import Records
import RecordStore

/// Indexes that are declared but incomplete.
struct IndexesUnderWay {
    let count: Int
    /// True if a server continues to build them. Otherwise the build pauses when the command ends.
    private let hasServer: Bool

    init(_ builds: [IndexBuildProgress], hasServer: Bool) {
        count = builds.reduce(0) { count, build in
            if case .field(_, let indexes) = build.subject { count + indexes.names.count } else { count + 1 }
        }
        self.hasServer = hasServer
    }

    /// Prints a note on standard error.
    func say() {
        let indexes = count == 1 ? "1 index is" : "\(Output.grouped(count)) indexes are"
        Output.note(
            "\(indexes) not complete yet; queries that need \(count == 1 ? "it" : "one") get TRY_AGAIN_LATER. "
                + (hasServer ? "The server continues the work." : "The work continues when the data folder is opened again, by skylight serve or any command."))
    }
}
