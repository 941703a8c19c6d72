internal import Console
internal import RecordStore
internal import Records
internal import RemoteRecordStore
internal import RequestLog

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
    func explanation(of token: ChangeToken, in address: DatabaseAddress, of user: Name) async throws
        -> TokenExplanation?
    {
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
        let database = try await measure.measure {
            try await engine.database(key.address, as: Caller(userRecordName: key.user))
        }
        databases[key] = database
        return database
    }
}

// MARK: - Tokens in forms

/// A change token that the user entered, and its explanation from the store.
struct TokenInput: ViewModel {
    let text: String
    let isUsed: Bool
    /// `212 changes after it`…
    let facts: [String]
    /// `still good`, or the reason why the token is invalid.
    let standing: String?
    /// `good` or `bad`.
    let tone: String?

    /// - Parameters:
    ///   - text: the input.
    ///   - isUsed: true if the checkbox is ticked.
    init(_ text: String, isUsed: Bool, visit: Visit) async throws {
        self.text = text
        self.isUsed = isUsed
        guard isUsed, !text.isEmpty,
            let explanation = try await visit.measure({ try await visit.database.meaning(of: ChangeToken(text: text)) })
        else {
            facts = isUsed && !text.isEmpty ? try Self.received(text, visit) : []
            standing = nil
            tone = nil
            return
        }
        var facts: [String] = []
        if let moment = explanation.moment {
            facts.append("at \(moment.utcText.prefix(16)) UTC")
            facts.append(moment.agoText(at: .now()))
        } else {
            facts.append("before the first change")
        }
        if case .zone = explanation.subject, let count = explanation.changesAfter {
            facts.append("\(Digits.count(count, "change")) after it")
        }
        self.facts = facts
        switch explanation.validity {
        case .good: (standing, tone) = ("valid", "good")
        case .expired(let why): (standing, tone) = ("expired: \(why)", "bad")
        case .foreign(let why): (standing, tone) = ("not for this database: \(why)", "bad")
        }
    }

    /// CloudKit tells nothing about a token, so the moment when it came stands for it.
    private static func received(_ text: String, _ visit: Visit) throws -> [String] {
        guard let database = try visit.cloudKit() else { return [] }
        guard let receipt = database.receipt(of: ChangeToken(text: text), in: visit.place.zoneID) else {
            return ["not received here lately; CloudKit says nothing else about a token"]
        }
        let (moment, today) = (receipt.received.utcText, Timestamp.now().utcText.prefix(10))
        let day = moment.hasPrefix(today) ? "today" : String(moment.prefix(10))
        return [
            "received \(moment.dropFirst(11).prefix(5)) UTC \(day)",
            "\(Digits.count(receipt.pullsSince, "pull")) since",
        ]
    }
}

/// A token in the output of a page.
struct TokenOutput: ViewModel {
    let text: String
    /// The link to the changes since the token.
    let again: String
    let explain: String
}

// MARK: - Advice

/// Advice for clients whose token is refused.
enum TokenAdvice {
    /// - Parameter sent: the text of the refused token; `nil` if it is unknown.
    static func sentences(for error: RecordError, sent: String? = nil) -> [String] {
        switch error.known {
        case .expiredToken:
            expired
        case .unknownToken:
            if let kind = sent.flatMap({ PastedValue($0).kind }), kind != .changeToken, kind.isCertain {
                [kind.title + "."] + kind.advice + [withoutToken]
            } else {
                [
                    "The token is damaged, or belongs to another zone, database or user.",
                    "Send exactly the token that the server returned for this zone. A database token is not a zone token.",
                    withoutToken,
                ]
            }
        case _ where error.code == .zoneNotFound:
            [
                "The zone was deleted or purged, or is no longer shared.",
                "Delete the client's copy of it. The database's changes list it as deleted.",
            ]
        default: []
        }
    }

    private static let withoutToken = "If the token is lost, pull without a token."

    static let expired = [
        "Discard the zone's token, and pull without a token.",
        "Store every record that comes as new or changed.",
        "Then delete local records that were not returned: a first pull lists no earlier deletions.",
    ]
}
