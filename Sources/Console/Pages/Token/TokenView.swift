internal import JSON
internal import RecordStore
internal import Records

/// The page Tokens: what a change token means and whether it is still good.
struct TokenView: Page {
    static let template = "token"
    static let tab = Tab.token

    struct Fact: ViewModel {
        let name: String
        let value: ValueView
    }

    let title = "Tokens"
    let action: String
    let hidden: [Frame.Hidden]
    let text: String
    let verdict: String?
    /// `good` or `bad`.
    let tone: String?
    let reason: String?
    let facts: [Fact]
    let steps: [String]
    /// Asks for what happened since.
    let changes: Frame.Link?
    let complaint: Complaint?
    /// Tokens to look at, where none was given.
    let examples: [Frame.Link]
    let milliseconds: String
}

extension TokenView {
    static func load(_ visit: Visit) async throws -> TokenView {
        let text = (visit.fields["token"] ?? "").filter { !$0.isWhitespace }
        var explanation: TokenExplanation?
        var complaint: Complaint?
        if !text.isEmpty {
            guard let explaining = visit.database as? any TokenExplaining else {
                throw RecordError(.badRequest, "This engine can't explain its tokens")
            }
            do {
                explanation = try await visit.measure { try await explaining.explain(ChangeToken(text: text)) }
            } catch let error as RecordError {
                complaint = Complaint(error, advice: TokenAdvice.sentences(for: error))
            }
        }
        let reading = explanation.map { Reading($0, text: text, visit: visit) }
        return TokenView(
            action: "\(visit.place.path)/token", hidden: visit.place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) }, text: text,
            verdict: reading?.verdict, tone: reading?.tone, reason: reading?.reason, facts: reading?.facts ?? [], steps: reading?.steps ?? [],
            changes: reading?.changes, complaint: complaint, examples: text.isEmpty ? examples(visit) : [],
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    private static func examples(_ visit: Visit) -> [Frame.Link] {
        visit.customZones.prefix(5).compactMap { zone in
            zone.syncToken.map { token in
                Frame.Link(text: "The current token of \(visit.zoneName(zone.zoneID))", href: visit.place.link("token", [("token", token.text)]))
            }
        }
    }

    /// An explanation in words.
    private struct Reading {
        let verdict: String
        let tone: String
        let reason: String?
        let facts: [Fact]
        let steps: [String]
        let changes: Frame.Link?

        init(_ explanation: TokenExplanation, text: String, visit: Visit) {
            facts = Self.facts(explanation, visit: visit)
            let isGood = explanation.standing == .good
            tone = isGood ? "good" : "bad"
            var place: Place?
            switch explanation.subject {
            case .database: place = visit.place.with { $0.zone = .all }
            case .zone(let zoneID): place = zoneID.map { visit.place.inZone($0) }
            }
            changes = isGood ? place.map { Frame.Link(text: "Fetch changes since this token", href: $0.link("changes", [("since", "1"), ("token", text)])) } : nil
            switch explanation.standing {
            case .good:
                verdict = "This token is good"
                reason = nil
                switch explanation.subject {
                case .database:
                    steps = ["Ask the database for its changes since this token, then each zone it names with that zone's own token."]
                case .zone:
                    steps =
                        explanation.progress == .complete
                        ? ["Ask the zone for its changes since this token. Asking again with the same token repeats the same answer."]
                        : ["The pull was not finished: ask on with this token until moreComing is false, and keep the last token."]
                }
            case .expired(let why):
                verdict = "This token has expired"
                reason = why
                steps = TokenAdvice.expired
            case .foreign(let why):
                verdict = "This token is not for this database"
                reason = why
                steps = ["Use it where it was given out, or start here without a token."]
            }
        }

        private static func facts(_ explanation: TokenExplanation, visit: Visit) -> [Fact] {
            var facts: [Fact] = []
            func add(_ name: String, _ form: ValueView.Form, note: String? = nil) { facts.append(Fact(name: name, value: ValueView(form, note: note))) }
            switch explanation.subject {
            case .database: add("kind", .text("database token"), note: "it says which zones to ask")
            case .zone(let zoneID):
                add("kind", .text("zone token"), note: "‘I have everything up to here’")
                if let zoneID {
                    let name = visit.zoneName(zoneID)
                    let isHere = visit.zones.contains { visit.place.isSame($0.zoneID, zoneID) }
                    add("zone", isHere ? .link(name, href: visit.place.inZone(zoneID).link("changes"), hint: nil) : .text(name))
                } else {
                    add("zone", .text("not in the store any more"))
                }
            }
            add("database", .text(explanation.scope.rawValue), note: explanation.userRecordName.map { "of \(visit.people.name(of: $0))" })
            add("position", .text(Digits.grouped(explanation.position)), note: explanation.position == 0 ? "before the first change" : nil)
            if let moment = explanation.moment { add("stands at", .time(moment), note: moment.agoText(at: .now())) }
            switch explanation.progress {
            case .complete: add("progress", .text("complete"), note: "everything up to the position was seen")
            case .firstPull: add("progress", .text("page of a first pull"), note: "deletions from before its start are not listed")
            case .pull(let since): add("progress", .text("page of a pull"), note: "that began at position \(Digits.grouped(since))")
            case .reversePull: add("progress", .text("page of a reverse pull"), note: "from new to old")
            }
            if let count = explanation.changesAfter {
                let noun = if case .database = explanation.subject { "zones changed after it" } else { "changes after it" }
                add(noun, .text(Digits.grouped(count)))
            }
            return facts
        }
    }
}
