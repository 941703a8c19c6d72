#if PostgreSQL
internal import Synchronization

/// The hosts of a connection string. If it names several, one of them takes saves.
///
/// libpq tries them itself, but it would wait for one that does not answer, such as a machine without power, until the time for all of them is over.
struct PostgreSQLHosts {
    private static let names = ["host", "hostaddr", "port"]
    /// The hosts that took connections last, by their connection strings.
    private static let latest = Mutex<[String: Int]>([:])

    private let address: String
    /// For each host, the parameters that say where it is. They replace those of the string.
    private let hosts: [[String: String]]

    /// - Throws: ``SQLError`` if the string can't be read.
    init(_ address: String) throws {
        self.address = address
        let lists = try PostgreSQLAddress.parameters(of: address).filter { Self.names.contains($0.key) }
            .mapValues { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
        let count = max(lists["host"]?.count ?? 1, lists["hostaddr"]?.count ?? 1)
        // One port may be that of all. libpq says what is wrong with other lists.
        let isGood = lists.allSatisfy { name, values in values.count == count || name == "port" && values.count == 1 }
        hosts = count > 1 && isGood ? (0..<count).map { index in lists.mapValues { $0.count == 1 ? $0[0] : $0[index] } } : [[:]]
    }

    /// Tries one host after the other, beginning with the one that took the last connection.
    /// - Parameter connect: gets the parameters of a host.
    /// - Throws: the error of a host that is there but refuses, else that of the first; with the messages of all.
    func tryEach(_ connect: ([String: String]) throws -> Void) throws {
        let first = Self.latest.withLock { $0[address] } ?? 0
        var failures: [SQLError] = []
        for index in [first] + hosts.indices.filter({ $0 != first }) {
            do {
                try connect(hosts[index])
                if hosts.count > 1 { Self.latest.withLock { $0[address] = index } }
                return
            } catch let error as SQLError {
                failures.append(error)
            }
        }
        guard let failure = failures.first(where: { $0.cause != .connectionLost }) ?? failures.first else { return }
        let messages = failures.map(\.message).joined(separator: "; ")
        throw SQLError(failure.cause, failure.code, messages, failure.sql, isForLog: failures.contains { $0.isForLog })
    }
}
#endif
