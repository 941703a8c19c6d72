#if PostgreSQL
    internal import CPostgreSQL
    internal import Synchronization

    /// Parses connection strings before libpq does: libpq's error messages repeat the part that it can't parse, which
    /// may be a part of the password.
    enum PostgreSQLAddress {
        /// The parameters of a connection string.
        /// - Throws: ``SQLError`` without any part of the string.
        static func parameters(of address: String) throws -> [String: String] {
            guard rest(of: address) != nil || address.contains("=") else {
                throw SQLError(
                    .cannotOpen, "08001",
                    "a connection string begins with postgres:// or consists of pairs such as host=localhost")
            }
            guard !endsPasswordEarly(address), let options = PQconninfoParse(address, nil) else {
                throw SQLError.unreadableAddress
            }
            defer { PQconninfoFree(options) }
            var parameters: [String: String] = [:]
            var option = options
            while let keyword = option.pointee.keyword {
                if let value = option.pointee.val { parameters[String(cString: keyword)] = String(cString: value) }
                option += 1
            }
            // If the host is missing or the password contains a slash, libpq mistakes the password in `user:password`
            // for the port.
            guard parameters["port"]?.utf8.allSatisfy({ (48...57).contains($0) || $0 == UInt8(ascii: ",") }) ?? true
            else { throw SQLError.unreadableAddress }
            return parameters
        }

        /// The part of a URI after its scheme; `nil` if the string consists of `key=value` pairs.
        private static func rest(of address: String) -> Substring.UTF8View? {
            ["postgres://", "postgresql://"].first { address.utf8.starts(with: $0.utf8) }.map {
                address.utf8.dropFirst($0.utf8.count)
            }
        }

        /// True if the password in a URI probably contains an unescaped @ or /: libpq ends the password there and
        /// takes the rest for hosts and a database.
        private static func endsPasswordEarly(_ address: String) -> Bool {
            guard let rest = rest(of: address),
                let end = rest.firstIndex(where: { [UInt8(ascii: "@"), UInt8(ascii: "/")].contains($0) })
            else { return false }
            let place = rest[end] == UInt8(ascii: "@") ? rest[rest.index(after: end)...] : rest
            return place.prefix { $0 != UInt8(ascii: "?") }.contains(UInt8(ascii: "@"))
        }
    }

    extension SQLError {
        static let unreadableAddress = SQLError(
            .cannotOpen, "08001",
            "the address can't be read; write % @ : / of the password in percent-encoding, as %25 %40 %3A %2F")
    }

    // MARK: - Hosts

    /// The hosts in a connection string. If it names several, only one of them accepts writes.
    ///
    /// libpq could try the hosts itself. But if one of them does not answer, such as a machine without power, libpq
    /// waits for it until the time for all of them has passed.
    struct PostgreSQLHosts {
        private static let names = ["host", "hostaddr", "port"]
        /// The index of the host that accepted the last connection, by connection string.
        private static let latest = Mutex<[String: Int]>([:])

        private let address: String
        /// For each host, the parameters with its address. They replace those in the connection string.
        private let hosts: [[String: String]]

        /// - Throws: ``SQLError`` if the string can't be parsed.
        init(_ address: String) throws {
            self.address = address
            let lists = try PostgreSQLAddress.parameters(of: address).filter { Self.names.contains($0.key) }
                .mapValues { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }
            let count = max(lists["host"]?.count ?? 1, lists["hostaddr"]?.count ?? 1)
            // A single port may apply to all hosts. libpq reports other lists of different lengths.
            let isGood = lists.allSatisfy { name, values in values.count == count || name == "port" && values.count == 1
            }
            hosts =
                count > 1 && isGood
                ? (0..<count).map { index in lists.mapValues { $0.count == 1 ? $0[0] : $0[index] } } : [[:]]
        }

        /// Tries the hosts one after the other, beginning with the host that accepted the last connection.
        /// - Parameter connect: connects with the parameters of a host.
        /// - Throws: the error of a host that answers but refuses; otherwise the error of the first host. The message
        ///   contains the messages of all hosts.
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
            throw SQLError(
                failure.cause, failure.code, messages, failure.sql, isForLog: failures.contains { $0.isForLog })
        }
    }
#endif
