internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// Explains the tokens that clients sent and received, each in the database of its user.
///
/// Caches the explanations, because the same tokens recur. Limits the number of tokens per page.
final class TokenReader {
    /// The maximum number of tokens that one page explains.
    private static let limit = 2000

    private struct Key: Hashable {
        let address: DatabaseAddress
        let user: Name
    }

    let engine: any RecordEngine
    private let measure: Stopwatch
    private var databases: [Key: any RecordDatabase] = [:]
    private var explained: [Key: [ChangeToken: TokenExplanation?]] = [:]
    private var count = 0
    /// True if the page reached the limit.
    var isExhausted: Bool { count >= Self.limit }

    init(_ visit: Visit) {
        engine = visit.engine
        measure = visit.stopwatch
    }

    /// - Returns: `nil` if the engine can't explain the token, or did not issue it.
    func explanation(of token: ChangeToken, in address: DatabaseAddress, of user: Name) async throws -> TokenExplanation? {
        let key = Key(address: address, user: user)
        if let known = explained[key]?[token] { return known }
        if isExhausted { return nil }
        count += 1
        let database = try await database(key)
        let explanation = try await measure.measure { try await database.meaning(of: token) }
        explained[key, default: [:]][token] = .some(explanation)
        return explanation
    }

    /// The database of a user.
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
