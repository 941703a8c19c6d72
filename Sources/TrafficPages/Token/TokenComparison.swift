internal import Console
internal import RecordStore
internal import Records
internal import Workbench

/// Two tokens side by side: their order, and the changes between them.
struct TokenComparison: ViewModel {
    struct Row: ViewModel {
        let name: String
        let first: String
        let second: String
        let differs: Bool
    }

    let verdict: String
    let explanation: String?
    let rows: [Row]
    /// Links to further pages.
    let links: [Frame.Link]

    /// - Parameters:
    ///   - first: the bytes and the finding of the first token.
    ///   - second: the bytes and the finding of the second token.
    init(
        _ first: (bytes: [UInt8], finding: TokenFinding?), _ second: (bytes: [UInt8], finding: TokenFinding?), visit: Visit
    ) {
        let bytes = ByteComparison(first.bytes, second.bytes)
        let left = first.finding?.explanation
        let right = second.finding?.explanation
        rows = Self.rows(left, right, bytes: bytes, visit: visit)
        if bytes.areEqual {
            (verdict, explanation, links) = ("They are the same token", "The same position always gives the same token.", [])
            return
        }
        guard let left, let right else {
            let known = left != nil ? "Only the first one is from this server." : right != nil ? "Only the second one is from this server." : nil
            verdict = "It is unknown which one is older"
            explanation = [known, "The bytes of tokens have no order. Only the server that issued them knows their positions."].compactMap { $0 }.joined(separator: " ")
            links = []
            return
        }
        guard left.subject == right.subject, left.scope == right.scope, left.userRecordName == right.userRecordName, left.subject != .zone(nil) else {
            verdict = "They can't be compared"
            explanation = Self.difference(left, right)
            links = []
            return
        }
        let isFirstOlder = left.position <= right.position
        let (older, newer) = isFirstOlder ? (left, right) : (right, left)
        let (olderToken, newerToken) = (ChangeToken(bytes: isFirstOlder ? first.bytes : second.bytes), ChangeToken(bytes: isFirstOlder ? second.bytes : first.bytes))
        if left.position == right.position {
            verdict = "They have the same position"
            explanation = "They differ in the progress of their pull: each page of an unfinished pull has its own token."
        } else {
            verdict = "The \(isFirstOlder ? "first" : "second") is older"
            explanation = Self.between(older, newer)
        }
        links = Self.links(older, olderToken, newer, newerToken, visit)
    }

    private static func links(
        _ older: TokenExplanation, _ olderToken: ChangeToken, _ newer: TokenExplanation, _ newerToken: ChangeToken, _ visit: Visit
    ) -> [Frame.Link] {
        guard older.standing == .good else { return [] }
        var place = visit.place.with { $0.zone = .all }
        var links: [Frame.Link] = []
        let since = [("since", "1"), ("token", olderToken.text)]
        if case .zone(let zoneID?) = older.subject {
            place = visit.place.inZone(zoneID)
            // The token of a reverse pull already covers the changes after it.
            let isForward = older.progress != .reversePull && newer.progress != .reversePull
            if newer.standing == .good, isForward, older.position < newer.position {
                links.append(Frame.Link(text: "Fetch changes between them", href: place.link("changes", since + [("upto", newerToken.text)])))
            }
        }
        return links + [Frame.Link(text: "Fetch changes since the older one", href: place.link("changes", since))]
    }

    /// The changes that a client with the older token lacks compared to one with the newer token.
    private static func between(_ older: TokenExplanation, _ newer: TokenExplanation) -> String {
        let distance = "\(Digits.grouped(newer.position - older.position)) positions apart"
        guard let all = older.changesAfter, let rest = newer.changesAfter else {
            return "\(distance). The changes between them are unknown, because \(older.changesAfter == nil ? "the older one" : "the newer one") is no longer valid."
        }
        let noun = if case .database = older.subject { "zone" } else { "record" }
        let count = Digits.count(max(0, all - rest), noun)
        return "\(distance); \(count) changed last between them, and \(Digits.grouped(rest)) after the newer one. "
            + "A feed lists each \(noun) once, at its latest change. A change in between and a later one count as later."
    }

    private static func difference(_ left: TokenExplanation, _ right: TokenExplanation) -> String {
        if left.scope != right.scope || left.userRecordName != right.userRecordName { return "They belong to different databases." }
        switch (left.subject, right.subject) {
        case (.database, .zone), (.zone, .database): return "One is a database token, the other a zone token."
        default: return "They belong to different zones, and each zone has its own positions."
        }
    }

    private static func rows(_ left: TokenExplanation?, _ right: TokenExplanation?, bytes: ByteComparison, visit: Visit) -> [Row] {
        var rows: [Row] = []
        func add(_ name: String, _ first: String?, _ second: String?) {
            let (first, second) = (first ?? "–", second ?? "–")
            rows.append(Row(name: name, first: first, second: second, differs: !first.utf8.elementsEqual(second.utf8)))
        }
        func all(_ name: String, _ text: (TokenExplanation) -> String?) {
            if left != nil || right != nil { add(name, left.flatMap(text), right.flatMap(text)) }
        }
        all("kind") { explanation in
            switch explanation.subject {
            case .database: "database token"
            case .zone(let zoneID): zoneID.map { "zone token of \(visit.zoneName($0))" } ?? "zone token of a deleted zone"
            }
        }
        all("database") { explanation in
            [explanation.scope.rawValue, explanation.userRecordName.map { "of \(visit.people.name(of: $0))" }].compactMap { $0 }.joined(separator: " ")
        }
        all("position") { Digits.grouped($0.position) }
        all("time") { $0.moment.map { "\($0.utcText) UTC, \($0.agoText(at: .now()))" } }
        all("changes after it") { $0.changesAfter.map { Digits.grouped($0) } }
        all("status") { explanation in
            switch explanation.standing {
            case .good: "good"
            case .expired: "expired"
            case .foreign: "not for this database"
            }
        }
        add("length", Digits.bytes(Int64(bytes.left)), Digits.bytes(Int64(bytes.right)))
        add("common prefix", Digits.bytes(Int64(bytes.common)), Digits.bytes(Int64(bytes.common)))
        return rows
    }
}
