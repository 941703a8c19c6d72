internal import Console
internal import RecordStore
internal import Records
internal import Workbench

/// An explanation of a token of this server: its validity, its meaning, and the next steps for a client.
struct TokenVerdict: ViewModel {
    struct Fact: ViewModel {
        let name: String
        let value: ValueView
    }

    let verdict: String
    /// `good`, `bad`, or `warn` for a token between the pages of a pull.
    let tone: String
    let reason: String?
    let facts: [Fact]
    let steps: [String]
    /// Links to further pages.
    let links: [Frame.Link]

    init(_ explanation: TokenExplanation, text: String, visit: Visit) {
        facts = Self.facts(explanation, visit: visit)
        let isGood = explanation.standing == .good
        let isFinished = explanation.progress == .complete
        tone = !isGood ? "bad" : isFinished ? "good" : "warn"
        var place: Place?
        switch explanation.subject {
        case .database: place = visit.place.with { $0.zone = .all }
        case .zone(let zoneID): place = zoneID.map { visit.place.inZone($0) }
        }
        switch explanation.standing {
        case .good:
            verdict = isFinished ? "This token is valid" : "This token is valid, but its pull is not finished"
            reason = nil
            links = place.map { [Frame.Link(text: "Fetch changes since this token", href: $0.link("changes", [("since", "1"), ("token", text)]))] } ?? []
            switch explanation.subject {
            case .database:
                steps = ["Fetch the database's changes with this token, then each listed zone with the zone's own token."]
            case .zone:
                steps =
                    isFinished
                    ? ["Fetch the zone's changes with this token. The same token always returns the same changes."]
                    : ["The pull was not finished: fetch with this token until moreComing is false, and keep the last token."]
            }
        case .expired(let why):
            verdict = "This token has expired"
            reason = why
            steps = TokenAdvice.expired
            links = place.map { [Frame.Link(text: "Fetch changes without a token", href: $0.link("changes"))] } ?? []
        case .foreign(let why):
            verdict = "This token is not for this database"
            reason = why
            steps = ["Use it in the database it came from, or pull here without a token."]
            let there = visit.place.home(of: explanation, people: visit.people)
            links = there == visit.place.with { $0.zone = .unspecified } ? [] : [Frame.Link(text: "Explain it in its database", href: there.link("token", [("token", text)]))]
        }
    }

    private static func facts(_ explanation: TokenExplanation, visit: Visit) -> [Fact] {
        var facts: [Fact] = []
        func add(_ name: String, _ form: ValueView.Form, note: String? = nil) { facts.append(Fact(name: name, value: ValueView(form, note: note))) }
        switch explanation.subject {
        case .database: add("kind", .text("database token"), note: "it tells which zones changed; it is not valid for a zone")
        case .zone(let zoneID):
            add("kind", .text("zone token"), note: "‘I have everything up to here’")
            if let zoneID {
                let name = visit.zoneName(zoneID)
                let isHere = visit.zones.contains { visit.place.isSame($0.zoneID, zoneID) }
                add("zone", isHere ? .link(name, href: visit.place.inZone(zoneID).link("changes"), hint: nil) : .text(name))
            } else {
                add("zone", .text("no longer exists"))
            }
        }
        add("database", .text(explanation.scope.rawValue), note: explanation.userRecordName.map { "of \(visit.people.name(of: $0))" })
        add("position", .text(Digits.grouped(explanation.position)), note: explanation.position == 0 ? "before the first change" : nil)
        if let moment = explanation.moment { add("time", .time(moment), note: moment.agoText(at: .now())) }
        switch explanation.progress {
        case .complete: add("progress", .text("complete"), note: "the client has everything up to the position")
        case .firstPull: add("progress", .text("unfinished"), note: unfinished("the first pull", explanation))
        case .pull(let since): add("progress", .text("unfinished"), note: unfinished("the pull that began at position \(Digits.grouped(since))", explanation))
        case .reversePull: add("progress", .text("unfinished"), note: unfinished("the pull with the newest changes first", explanation))
        }
        if let count = explanation.changesAfter {
            let noun = if case .database = explanation.subject { "zones changed after it" } else { "changes after it" }
            add(noun, .text(Digits.grouped(count)), note: count == 0 ? "it is the current one" : nil)
        }
        return facts
    }

    /// Only a valid token continues its pull. The steps say what to do with another one.
    private static func unfinished(_ pull: String, _ explanation: TokenExplanation) -> String {
        "\(pull) stopped between pages (moreComing was true)." + (explanation.standing == .good ? " Continue with this token." : "")
    }
}

/// Describes a pasted value that no store explains: a token of iCloud, a cut token, or something else than a change token.
struct RecognisedValue: ViewModel {
    /// A CSS class: `compared` for what is in order, none for a token that was cut or changed.
    let tone: String
    let title: String
    let advice: [String]
    /// The answer of the API to such a token.
    let refusal: String?
    let link: Frame.Link?

    /// - Parameter refusal: the error of the store that was asked for the token; `nil` if none was.
    init(_ kind: PastedKind, refusal: RecordError?, _ visit: Visit) {
        switch kind {
        case .damagedToken, .changeToken: tone = ""
        default: tone = "compared"
        }
        // A store that knows the token says itself why it can't explain it.
        let reason = refusal.flatMap { $0.known == .unknownToken ? nil : $0.reason }
        title = reason ?? kind.title
        advice = reason == nil ? kind.advice : []
        self.refusal = kind.isToken && reason == nil ? refusal.map { "As a syncToken here, the API refuses it: \($0.code.rawValue), \($0.reason)." } : nil
        link = kind.credential.flatMap { credential in
            switch credential {
            case .apiToken, .keyID, .privateKey, .publicKey, .digits64: Tab.keys
            case .notificationToken: Tab.notifications
            case .webAuthToken: Tab.users
            case .signature: Tab.requests
            }
        }.map { Frame.Link(text: $0.title, href: visit.place.link($0.rawValue)) }
    }
}
