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
            let known = left != nil ? "Only the first was given out here." : right != nil ? "Only the second was given out here." : nil
            verdict = "Which one is older can't be told"
            explanation = [known, "Tokens have no order that shows in their bytes; only the server that gave them out knows their positions."].compactMap { $0 }.joined(separator: " ")
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
            verdict = "They stand at the same position"
            explanation = "They differ in how far their pull had come: a page of an unfinished pull has a token of its own."
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
                links.append(Frame.Link(text: "Fetch what changed between them", href: place.link("changes", since + [("upto", newerToken.text)])))
            }
        }
        return links + [Frame.Link(text: "Fetch changes since the older one", href: place.link("changes", since))]
    }

    /// The changes that a client with the older token lacks compared to one with the newer token.
    private static func between(_ older: TokenExplanation, _ newer: TokenExplanation) -> String {
        let distance = "\(Digits.grouped(newer.position - older.position)) positions lie between them"
        guard let all = older.changesAfter, let rest = newer.changesAfter else {
            return "\(distance). What changed meanwhile can't be told, because \(older.changesAfter == nil ? "the older one" : "the newer one") is not good any more."
        }
        let noun = if case .database = older.subject { "zone" } else { "record" }
        let count = Digits.count(max(0, all - rest), noun)
        return "\(distance); \(count) changed last between them, and \(Digits.grouped(rest)) after the newer one. "
            + "A feed lists each \(noun) once, at its latest change, so what changed in between and again later counts as later."
    }

    private static func difference(_ left: TokenExplanation, _ right: TokenExplanation) -> String {
        if left.scope != right.scope || left.userRecordName != right.userRecordName { return "They are of two databases." }
        switch (left.subject, right.subject) {
        case (.database, .zone), (.zone, .database): return "One is a database token, which says which zones to ask; the other is a position in one zone."
        default: return "They are of two zones, and each zone counts for itself."
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
            case .zone(let zoneID): zoneID.map { "zone token of \(visit.zoneName($0))" } ?? "zone token of a zone that is gone"
            }
        }
        all("database") { explanation in
            [explanation.scope.rawValue, explanation.userRecordName.map { "of \(visit.people.name(of: $0))" }].compactMap { $0 }.joined(separator: " ")
        }
        all("position") { Digits.grouped($0.position) }
        all("stands at") { $0.moment.map { "\($0.utcText) UTC, \($0.agoText(at: .now()))" } }
        all("changes after it") { $0.changesAfter.map { Digits.grouped($0) } }
        all("standing") { explanation in
            switch explanation.standing {
            case .good: "good"
            case .expired: "expired"
            case .foreign: "not for here"
            }
        }
        add("length", Digits.bytes(Int64(bytes.left)), Digits.bytes(Int64(bytes.right)))
        add("beginning in common", Digits.bytes(Int64(bytes.common)), Digits.bytes(Int64(bytes.common)))
        return rows
    }
}
