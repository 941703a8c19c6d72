#if PostgreSQL
internal import CPostgreSQL

/// Reads connection strings before libpq connects with them: libpq's errors repeat what it can't read, and that may be a part of the password.
enum PostgreSQLAddress {
    /// The parameters that a connection string has.
    /// - Throws: ``SQLError`` without any part of the string.
    static func parameters(of address: String) throws -> [String: String] {
        guard rest(of: address) != nil || address.contains("=") else {
            throw SQLError(.cannotOpen, "08001", "a connection string begins with postgres:// or consists of pairs such as host=localhost")
        }
        guard !endsPasswordEarly(address), let options = PQconninfoParse(address, nil) else { throw SQLError.unreadableAddress }
        defer { PQconninfoFree(options) }
        var parameters: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { parameters[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        // Without a host, or with a slash in the password, libpq takes the password of `user:password` for the port.
        guard parameters["port"]?.utf8.allSatisfy({ (48...57).contains($0) || $0 == UInt8(ascii: ",") }) ?? true else { throw SQLError.unreadableAddress }
        return parameters
    }

    /// The part of a URI after its scheme; `nil` for pairs.
    private static func rest(of address: String) -> Substring.UTF8View? {
        ["postgres://", "postgresql://"].first { address.utf8.starts(with: $0.utf8) }.map { address.utf8.dropFirst($0.utf8.count) }
    }

    /// True if the password of a URI seems to go on after its end: libpq ends it at the first @ or /, and takes what follows for hosts and a database.
    private static func endsPasswordEarly(_ address: String) -> Bool {
        guard let rest = rest(of: address), let end = rest.firstIndex(where: { [UInt8(ascii: "@"), UInt8(ascii: "/")].contains($0) }) else { return false }
        let place = rest[end] == UInt8(ascii: "@") ? rest[rest.index(after: end)...] : rest
        return place.prefix { $0 != UInt8(ascii: "?") }.contains(UInt8(ascii: "@"))
    }
}

extension SQLError {
    static let unreadableAddress = SQLError(
        .cannotOpen, "08001", "the address can't be read; write % @ : / of the password in percent-encoding, as %25 %40 %3A %2F")
}
#endif
