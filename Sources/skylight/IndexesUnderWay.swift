import Records
import RecordStore

/// Indexes that are declared and not complete yet.
struct IndexesUnderWay {
    let count: Int
    /// Whether a server goes on with them; otherwise nobody does once the command has ended.
    private let hasServer: Bool

    init(_ builds: [IndexBuildProgress], hasServer: Bool) {
        count = builds.reduce(0) { count, build in
            if case .field(_, let indexes) = build.subject { count + indexes.names.count } else { count + 1 }
        }
        self.hasServer = hasServer
    }

    /// Says it on standard error.
    func say() {
        let indexes = count == 1 ? "1 index is" : "\(Output.grouped(count)) indexes are"
        Output.note(
            "\(indexes) not complete yet; queries that need \(count == 1 ? "it" : "one") are answered to try again soon. "
                + (hasServer ? "The server goes on with it." : "The work goes on when the data folder is opened next, by skylight serve or any command."))
    }
}
