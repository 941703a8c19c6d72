internal import Console
internal import RecordStore
internal import Records
internal import RequestLog

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
    /// The pull with this token as code; `nil` for a token that the database refuses.
    let code: CodePanel?

    init(_ explanation: TokenExplanation, text: String, visit: Visit) {
        facts = Self.facts(explanation, visit: visit)
        let isGood = explanation.validity == .good
        let isFinished = explanation.progress == .complete
        tone = !isGood ? "bad" : isFinished ? "good" : "warn"
        var place: Place?
        switch explanation.subject {
        case .database: place = visit.place.with { $0.zone = .all }
        case .zone(let zoneID): place = zoneID.map { visit.place.inZone($0) }
        }
        code = isGood ? CodePanel(pullWith: text, of: explanation.subject, visit: visit) : nil
        switch explanation.validity {
        case .good:
            let count = explanation.changesAfter
            if isFinished {
                verdict =
                    "This token is valid"
                    + (count.map { $0 == 0 ? ": nothing has changed after it" : ": \(Self.after($0, explanation))" }
                        ?? "")
            } else {
                verdict =
                    "This token is valid, but its pull is not finished: continue with it"
                    + (count.map { $0 == 0 ? "" : ", \(Self.after($0, explanation))" } ?? "")
            }
            reason = nil
            links =
                place.map {
                    [
                        Frame.Link(
                            text: "Fetch changes since this token",
                            href: $0.link("changes", [("since", "1"), ("token", text)]))
                    ]
                } ?? []
            switch explanation.subject {
            case .database:
                steps = [
                    "Fetch the database's changes with this token, then each listed zone with the zone's own token."
                ]
            case .zone:
                steps =
                    isFinished
                    ? ["Fetch the zone's changes with this token. The same token always returns the same changes."]
                    : [
                        "The pull was not finished: fetch with this token until moreComing is false, and keep the last token."
                    ]
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
            links =
                there == visit.place.with { $0.zone = .unspecified }
                ? [] : [Frame.Link(text: "Explain it in its database", href: there.link("token", [("token", text)]))]
        }
    }

    /// `1,357 changes come after it`.
    private static func after(_ count: Int, _ explanation: TokenExplanation) -> String {
        let noun = if case .database = explanation.subject { "zone" } else { "change" }
        return "\(Digits.count(count, noun)) \(count == 1 ? "comes" : "come") after it"
    }

    private static func facts(_ explanation: TokenExplanation, visit: Visit) -> [Fact] {
        var facts: [Fact] = []
        func add(_ name: String, _ form: ValueView.Form, note: String? = nil) {
            facts.append(Fact(name: name, value: ValueView(form, note: note)))
        }
        switch explanation.subject {
        case .database:
            add("kind", .text("database token"), note: "it tells which zones changed; it is not valid for a zone")
        case .zone(let zoneID):
            add("kind", .text("zone token"), note: "‘I have everything up to here’")
            if let zoneID {
                let name = visit.zoneName(zoneID)
                let isHere = visit.zones.contains { visit.place.isSame($0.zoneID, zoneID) }
                add(
                    "zone",
                    isHere ? .link(name, href: visit.place.inZone(zoneID).link("changes"), hint: nil) : .text(name))
            } else {
                add("zone", .text("no longer exists"))
            }
        }
        add(
            "database", .text(explanation.scope.rawValue),
            note: explanation.userRecordName.map { "of \(visit.people.name(of: $0))" })
        add(
            "position", .text(Digits.grouped(explanation.position)),
            note: explanation.position == 0 ? "before the first change" : nil)
        if let moment = explanation.moment { add("time", .time(moment), note: moment.agoText(at: .now())) }
        switch explanation.progress {
        case .complete: add("progress", .text("complete"), note: "the client has everything up to the position")
        case .firstPull: add("progress", .text("unfinished"), note: unfinished("the first pull", explanation))
        case .pull(let since):
            add(
                "progress", .text("unfinished"),
                note: unfinished("the pull that began at position \(Digits.grouped(since))", explanation))
        case .reversePull:
            add(
                "progress", .text("unfinished"), note: unfinished("the pull with the newest changes first", explanation)
            )
        }
        if let count = explanation.changesAfter {
            let noun = if case .database = explanation.subject { "zones changed after it" } else { "changes after it" }
            add(noun, .text(Digits.grouped(count)), note: count == 0 ? "it is the current one" : nil)
        }
        return facts
    }

    /// Only a valid token continues its pull. The steps say what to do with another one.
    private static func unfinished(_ pull: String, _ explanation: TokenExplanation) -> String {
        "\(pull) stopped between pages (moreComing was true)."
            + (explanation.validity == .good ? " Continue with this token." : "")
    }
}

/// Describes a pasted value that no store explains: a token of iCloud, a cut token, or something else than a change
/// token.
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
        self.refusal =
            kind.isToken && reason == nil
            ? refusal.map { "As a syncToken here, the API refuses it: \($0.code.rawValue), \($0.reason)." } : nil
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

// MARK: - Changes after the token

/// A zone's timeline with the position of a token, and the first changes after it.
struct TokenTimeline: ViewModel {
    struct Row: ViewModel {
        let position: String
        let kind: String
        let kindText: String
        let record: RecordLink
        let type: String
        let when: ValueView
    }

    let zone: String
    let timeline: FeedTimeline?
    let rows: [Row]
    /// All changes after the token; `nil` if the rows are all of them.
    let rest: Frame.Link?

    /// The number of changes that the page lists.
    private static let limit = 5
}

extension TokenTimeline {
    /// - Returns: `nil` for a token that is not of a zone of the database, and for a zone without a timeline.
    init?(_ explanation: TokenExplanation, _ token: ChangeToken, _ visit: Visit) async throws {
        guard case .zone(let zoneID?) = explanation.subject else { return nil }
        if case .foreign = explanation.validity { return nil }
        let there = visit.inZone(zoneID)
        let form = RecordFeedForm(FormFields([("since", "1"), ("token", token.text)]))
        let span = try await FeedSpan(form, of: zoneID, visit: there)
        timeline = try await FeedTimeline(nil, of: span, form, in: zoneID, visit: there)
        var page: ZoneChangesPage?
        if explanation.validity == .good {
            let request = ZoneChangesRequest(
                zoneID, since: token, limit: PageLimit(records: Self.limit), desiredKeys: visit.titles.fields)
            // The zone may have been deleted in the meantime.
            do { page = try await visit.measure { try await visit.database.zoneChanges(request) } } catch is RecordError
            { page = nil }
        }
        if timeline == nil, page?.changes.isEmpty ?? true { return nil }
        zone = visit.zoneName(zoneID)
        rows = try page?.changes.map { try Row($0, there) } ?? []
        rest =
            page?.moreComing == true
            ? Frame.Link(text: "All changes after it", href: there.place.link("changes", form.parameters(since: token)))
            : nil
    }
}

extension TokenTimeline.Row {
    fileprivate init(_ change: RecordChange, _ visit: Visit) throws {
        (position, kind, kindText) = (change.positionText, change.kindName, change.kindText)
        record = RecordLink(
            href: visit.place.link("record", [("name", change.recordID.recordName.string)]),
            recordName: change.recordID.recordName.string,
            title: try change.record.flatMap { try visit.titles.title(of: $0) })
        type = change.record?.recordType.string ?? RecordChange.unknownText
        when = change.record.map { ValueView(.time($0.modified.timestamp)) } ?? .missing
    }
}

// MARK: - Two tokens

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
        _ first: (bytes: [UInt8], finding: TokenFinding?), _ second: (bytes: [UInt8], finding: TokenFinding?),
        visit: Visit
    ) {
        let bytes = ByteComparison(first.bytes, second.bytes)
        let left = first.finding?.explanation
        let right = second.finding?.explanation
        rows = Self.rows(left, right, bytes: bytes, visit: visit)
        if bytes.areEqual {
            (verdict, explanation, links) = (
                "They are the same token", "The same position always gives the same token.", []
            )
            return
        }
        guard let left, let right else {
            let known =
                left != nil
                ? "Only the first one is from this server."
                : right != nil ? "Only the second one is from this server." : nil
            verdict = "It is unknown which one is older"
            explanation = [
                known, "The bytes of tokens have no order. Only the server that issued them knows their positions.",
            ].compactMap { $0 }.joined(separator: " ")
            links = []
            return
        }
        guard left.subject == right.subject, left.scope == right.scope, left.userRecordName == right.userRecordName,
            left.subject != .zone(nil)
        else {
            verdict = "They can't be compared"
            explanation = Self.difference(left, right)
            links = []
            return
        }
        let isFirstOlder = left.position <= right.position
        let (older, newer) = isFirstOlder ? (left, right) : (right, left)
        let (olderToken, newerToken) = (
            ChangeToken(bytes: isFirstOlder ? first.bytes : second.bytes),
            ChangeToken(bytes: isFirstOlder ? second.bytes : first.bytes)
        )
        if left.position == right.position {
            verdict = "They have the same position"
            explanation =
                "They differ in the progress of their pull: each page of an unfinished pull has its own token."
        } else {
            verdict = "The \(isFirstOlder ? "first" : "second") is older"
            explanation = Self.between(older, newer)
        }
        links = Self.links(older, olderToken, newer, newerToken, visit)
    }

    private static func links(
        _ older: TokenExplanation, _ olderToken: ChangeToken, _ newer: TokenExplanation, _ newerToken: ChangeToken,
        _ visit: Visit
    ) -> [Frame.Link] {
        guard older.validity == .good else { return [] }
        var place = visit.place.with { $0.zone = .all }
        var links: [Frame.Link] = []
        let since = [("since", "1"), ("token", olderToken.text)]
        if case .zone(let zoneID?) = older.subject {
            place = visit.place.inZone(zoneID)
            // The token of a reverse pull already covers the changes after it.
            let isForward = older.progress != .reversePull && newer.progress != .reversePull
            if newer.validity == .good, isForward, older.position < newer.position {
                links.append(
                    Frame.Link(
                        text: "Fetch changes between them",
                        href: place.link("changes", since + [("upto", newerToken.text)])))
            }
        }
        return links + [Frame.Link(text: "Fetch changes since the older one", href: place.link("changes", since))]
    }

    /// The changes that a client with the older token lacks compared to one with the newer token.
    private static func between(_ older: TokenExplanation, _ newer: TokenExplanation) -> String {
        let distance = "\(Digits.grouped(newer.position - older.position)) positions apart"
        guard let all = older.changesAfter, let rest = newer.changesAfter else {
            return
                "\(distance). The changes between them are unknown, because \(older.changesAfter == nil ? "the older one" : "the newer one") is no longer valid."
        }
        let noun = if case .database = older.subject { "zone" } else { "record" }
        let count = Digits.count(max(0, all - rest), noun)
        return "\(distance); \(count) changed last between them, and \(Digits.grouped(rest)) after the newer one. "
            + "A feed lists each \(noun) once, at its latest change. A change in between and a later one count as later."
    }

    private static func difference(_ left: TokenExplanation, _ right: TokenExplanation) -> String {
        if left.scope != right.scope || left.userRecordName != right.userRecordName {
            return "They belong to different databases."
        }
        switch (left.subject, right.subject) {
        case (.database, .zone), (.zone, .database): return "One is a database token, the other a zone token."
        default: return "They belong to different zones, and each zone has its own positions."
        }
    }

    private static func rows(_ left: TokenExplanation?, _ right: TokenExplanation?, bytes: ByteComparison, visit: Visit)
        -> [Row]
    {
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
            case .zone(let zoneID):
                zoneID.map { "zone token of \(visit.zoneName($0))" } ?? "zone token of a deleted zone"
            }
        }
        all("database") { explanation in
            [explanation.scope.rawValue, explanation.userRecordName.map { "of \(visit.people.name(of: $0))" }]
                .compactMap { $0 }.joined(separator: " ")
        }
        all("position") { Digits.grouped($0.position) }
        all("time") { $0.moment.map { "\($0.utcText) UTC, \($0.agoText(at: .now()))" } }
        all("changes after it") { $0.changesAfter.map { Digits.grouped($0) } }
        all("status") { explanation in
            switch explanation.validity {
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
