internal import CloudKitRecordStore
internal import Console
internal import RecordStore
internal import Records

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
        if case .zone = explanation.subject, let count = explanation.changesAfter { facts.append("\(Digits.count(count, "change")) after it") }
        self.facts = facts
        switch explanation.standing {
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
        return ["received \(moment.dropFirst(11).prefix(5)) UTC \(day)", "\(Digits.count(receipt.pullsSince, "pull")) since"]
    }
}
