internal import JSON
internal import RecordStore
internal import Records

/// Reads the tokens that clients sent and were given, each in the database of the user whose it is.
///
/// The same tokens come up again and again, so that what was read is kept; and a page reads no more than so many.
final class TokenReader {
    /// Tokens that one page explains.
    private static let limit = 2000

    private struct Key: Hashable {
        let address: DatabaseAddress
        let user: Name
    }

    private let engine: any RecordEngine
    private let measure: Stopwatch
    private var databases: [Key: any RecordDatabase] = [:]
    private var explained: [Key: [ChangeToken: TokenExplanation?]] = [:]
    private var count = 0
    /// Whether there were more tokens than a page explains.
    var isExhausted: Bool { count >= Self.limit }

    init(_ visit: Visit) {
        engine = visit.engine
        measure = visit.stopwatch
    }

    /// - Returns: `nil` where the engine can't say, or the token is none of its own.
    func explanation(of token: ChangeToken, in address: DatabaseAddress, of user: Name) async throws -> TokenExplanation? {
        let key = Key(address: address, user: user)
        if let known = explained[key]?[token] { return known }
        if isExhausted { return nil }
        count += 1
        let database = try await database(key)
        guard let explaining = database as? any TokenExplaining else { return nil }
        let explanation = try await measure.measure { try await explaining.meaning(of: token) }
        explained[key, default: [:]][token] = .some(explanation)
        return explanation
    }

    /// A user's database.
    func database(_ address: DatabaseAddress, of user: Name) async throws -> any RecordDatabase {
        try await database(Key(address: address, user: user))
    }

    private func database(_ key: Key) async throws -> any RecordDatabase {
        if let database = databases[key] { return database }
        let engine = engine
        let database = try await measure.measure { try await engine.database(key.address, as: Caller(userRecordName: key.user)) }
        databases[key] = database
        return database
    }
}
