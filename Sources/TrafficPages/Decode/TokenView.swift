package import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The page Decode: explains pasted tokens and similar values, their meaning and their validity.
package struct TokenView: Page {
    package static let template = "token"
    package static let tab = Tab.token

    /// The maximum number of tokens of one text that the store explains.
    private static let explainedLimit = 100

    package let title = Self.tab.title
    let action: String
    let text: String
    /// The beginning of the text, for the line of the folded form.
    let line: String
    let other: String
    /// True if the input has several lines and needs a larger form.
    let isLong: Bool
    let omission: String?
    let compares: Bool
    let pasted: PastedSummary?
    let verdict: TokenVerdict?
    /// The token on its zone's timeline.
    let ahead: TokenTimeline?
    /// The description of a value that no store of this server explains.
    let recognised: RecognisedValue?
    let origin: Frame.Link?
    let rows: [TokenRow]
    let rowsNote: String?
    let forms: [TokenForms]
    let archive: ArchiveTable?
    let comparison: TokenComparison?
    let comparisonProblem: String?
    let lesson: TokenLesson
    /// Example tokens, if the input is empty.
    let examples: [Frame.Link]
}

extension TokenView {
    package static func answer(_ visit: Visit) async throws -> Answer {
        // A credential does not stay in the address.
        let value = try await PastedValue.read(visit.fields["token"] ?? "")
        if let credential = visit.accounts.kind(of: value) ?? value.kind?.credential {
            return .redirect(visit.place.link(to: credential))
        }
        return .page(try await load(visit))
    }

    package static func load(_ visit: Visit) async throws -> TokenView {
        let value = try await PastedValue.read(visit.fields["token"] ?? "")
        let other = try await PastedValue.read(visit.fields["with"] ?? "")
        let isAlone = value.tokens.count == 1
        var findings: [TokenFinding?] = []
        for found in value.tokens.prefix(explainedLimit) {
            findings.append(try await finding(of: found, isAlone: isAlone, visit: visit))
        }
        let only = isAlone ? value.tokens.first : nil
        let finding = isAlone ? findings.first ?? nil : nil
        var (recognised, origin) = (RecognisedValue?.none, Frame.Link?.none)
        if let credential = visit.accounts.kind(of: value) ?? value.kind?.credential ?? named(visit) {
            recognised = RecognisedValue(.credential(credential), refusal: nil, visit)
        } else if case .unknown(let error, let place)? = finding {
            // Tokens in archives are from other servers, and no client sends them here.
            if !value.isArchive, place == nil, let bytes = only?.bytes {
                recognised = RecognisedValue(value.kind ?? PastedKind(bytes: bytes), refusal: error, visit)
            }
            if let place, let only {
                origin = Frame.Link(
                    text: "It is from \(place.words): explain it there",
                    href: place.link("token", [("token", only.text)]))
            }
        } else if finding == nil, let kind = value.kind {
            recognised = RecognisedValue(kind, refusal: nil, visit)
        }
        // The summary of the bytes says nothing more about a recognised value.
        let isRecognised =
            if case .unreadable = value.reading { value.kind != nil } else { !(value.kind?.isToken ?? true) }
        let (comparison, problem) = try await compare(value, finding, with: other, visit: visit)
        let sent = Self.sent(only, value)
        var ahead: TokenTimeline?
        if let explanation = finding?.explanation, let token = only?.token {
            ahead = try await TokenTimeline(explanation, token, visit)
        }
        return TokenView(
            action: visit.place.link("token"), text: value.shown, line: value.line, other: other.shown,
            isLong: value.text.utf8.count > 160,
            omission: value.omission, compares: !other.isEmpty,
            pasted: isRecognised ? nil : PastedSummary(value, isSent: visit.fields["token"] != nil),
            verdict: finding?.explanation.map { TokenVerdict($0, text: sent, visit: visit) }, ahead: ahead,
            recognised: recognised, origin: origin,
            rows: isAlone && !isInside(value) ? [] : zip(value.tokens, findings).map { TokenRow($0, $1, visit: visit) },
            rowsNote: value.tokens.count > explainedLimit
                ? "The first \(explainedLimit) of \(Digits.grouped(value.tokens.count)) are shown." : nil,
            forms: forms(value, only: only, isKnown: finding?.explanation != nil), archive: archive(value),
            comparison: comparison,
            comparisonProblem: problem,
            lesson: try await TokenLesson(visit, isOpen: value.isEmpty && recognised == nil),
            examples: value.isEmpty && recognised == nil ? try await examples(visit) : [])
    }

    private static func finding(of found: FoundToken, isAlone: Bool, visit: Visit) async throws -> TokenFinding? {
        guard let token = found.token else { return nil }
        return try await TokenFinding.find(token, searches: isAlone, visit: visit)
    }

    /// A token in the encoding that the API accepts.
    private static func sent(_ only: FoundToken?, _ value: PastedValue) -> String {
        only?.bytes.map { ChangeToken(bytes: $0).text } ?? only?.text ?? ""
    }

    /// The kind of credential that the address names in place of one.
    private static func named(_ visit: Visit) -> PastedKind.Credential? {
        visit.fields[PastedKind.parameterName].flatMap { PastedKind.Credential(rawValue: $0) }
    }

    /// True if a single token is part of a larger value, which names its origin.
    private static func isInside(_ value: PastedValue) -> Bool { value.tokens.contains { !$0.path.isEmpty } }

    private static func forms(_ value: PastedValue, only: FoundToken?, isKnown: Bool) -> [TokenForms] {
        var forms: [TokenForms] = []
        var pastedForms: [TextForm] = []
        if case .bytes(let pasted) = value.reading { pastedForms = pasted.forms }
        if case .json = value.reading { pastedForms = [.json] }
        if let bytes = only?.bytes {
            let isWhole = !value.isArchive
            forms.append(
                TokenForms(
                    "The token in every form", bytes: bytes, pasted: isWhole ? pastedForms : [], isOpen: !isKnown))
        }
        if case .bytes(let pasted) = value.reading, pasted.gap == nil, only == nil || value.isArchive, value.kind == nil
        {
            let title = value.isArchive ? "The archive in every form" : "The bytes in every form"
            forms.append(TokenForms(title, bytes: pasted.bytes, pasted: pastedForms, isOpen: false))
        }
        return forms
    }

    private static func archive(_ value: PastedValue) -> ArchiveTable? {
        if case .propertyList(let outline)? = value.content { ArchiveTable(outline) } else { nil }
    }

    private static func compare(
        _ value: PastedValue, _ finding: TokenFinding?, with other: PastedValue, visit: Visit
    ) async throws -> (TokenComparison?, problem: String?) {
        if other.isEmpty { return (nil, nil) }
        if case .unreadable(let error) = other.reading { return (nil, "The second text can't be read: \(error).") }
        guard value.tokens.count == 1, let first = value.tokens.first?.bytes else {
            return (nil, "The first field must hold exactly one token to be compared; it holds \(value.tokens.count).")
        }
        guard other.tokens.count == 1, let candidate = other.tokens.first, let second = candidate.bytes else {
            return (nil, "The second field must hold exactly one token to be compared; it holds \(other.tokens.count).")
        }
        let found = try await Self.finding(of: candidate, isAlone: false, visit: visit)
        return (TokenComparison((first, finding), (second, found), visit: visit), nil)
    }

    private static func examples(_ visit: Visit) async throws -> [Frame.Link] {
        func link(_ name: String, _ token: ChangeToken) -> Frame.Link {
            Frame.Link(text: "The current token of \(name)", href: visit.place.link("token", [("token", token.text)]))
        }
        let zones = visit.customZones.prefix(5).compactMap { zone in
            zone.syncToken.map { link(visit.zoneName(zone.zoneID), $0) }
        }
        guard visit.database.can(.tellCurrentToken) else { return zones }
        return zones + [
            link(
                "the database",
                try await visit.measure { try await visit.database.require(.tellCurrentToken).currentToken() })
        ]
    }
}

// MARK: - Rows

/// One of several tokens in an answer or an archive.
struct TokenRow: ViewModel {
    let path: String
    /// The zone name beside the token.
    let zone: String?
    /// `zone token of Notes`, `database token`…
    let kind: String
    /// `good`, `warn` or `bad`; `nil` if the state is unknown.
    let tone: String?
    let standing: String
    let position: String?
    let after: String?
    let text: String
    let href: String

    /// - Parameter finding: `nil` if the value is not a change token.
    init(_ found: FoundToken, _ finding: TokenFinding?, visit: Visit) {
        path = found.path
        zone = found.zoneName?.string
        text = found.text
        href = visit.place.link("token", [("token", found.text)])
        guard let explanation = finding?.explanation else {
            (position, after) = (nil, nil)
            if found.kind == .continuationMarker {
                (kind, tone, standing) = ("continuation marker", nil, "continues a query; it is not a change token")
            } else if case .unknown(_, let origin)? = finding {
                kind = "\(Digits.count(found.bytes?.count ?? 0, "byte"))"
                tone = origin == nil && PastedKind(bytes: found.bytes ?? []) == .iCloudToken ? nil : "warn"
                standing = origin.map { "from \($0.words)" } ?? Self.words(PastedKind(bytes: found.bytes ?? []))
            } else {
                (kind, tone, standing) = ("unreadable", "bad", "neither base64 nor hexadecimal text")
            }
            return
        }
        position = Digits.grouped(explanation.position)
        after = explanation.changesAfter.map { Digits.grouped($0) }
        var mistake: String?
        switch explanation.subject {
        case .database:
            kind = "database token"
            if found.zoneName != nil { mistake = "a database token where a zone token belongs" }
        case .zone(let zoneID):
            kind = zoneID.map { "zone token of \(visit.zoneName($0))" } ?? "zone token"
            if let beside = found.zoneName, let zoneID, zoneID.zoneName != beside {
                mistake = "belongs to another zone than the named one"
            }
        }
        switch explanation.validity {
        case .good: (tone, standing) = mistake.map { ("bad", $0) } ?? ("good", "valid")
        case .expired(let why): (tone, standing) = ("bad", "expired: \(why)")
        case .foreign(let why): (tone, standing) = ("bad", "not for this database: \(why)")
        }
    }

    /// What a token is that no store explains.
    private static func words(_ kind: PastedKind) -> String {
        switch kind {
        case .damagedToken(let count, let whole):
            count < whole ? "cut short: \(count) of \(whole) bytes" : "\(count) bytes, a whole one has \(whole)"
        case .iCloudToken: "iCloud’s, only iCloud can read it"
        case .continuationMarker: "a continuation marker where a change token belongs"
        default: "not from this environment"
        }
    }
}

// MARK: - Tutorial

/// The tutorial of the page Decode: the purpose of tokens, and the first token of a new device.
struct TokenLesson: ViewModel {
    /// The maximum number of records per web service answer.
    private static let pageSize = 200

    let zone: String
    /// `12,345 records`; `nil` if the engine does not count.
    let count: String?
    /// The number of requests for a playback without a token.
    let requests: String
    let query: CurlLine
    let playback: CurlLine
    let pull: CurlLine
    let current: CurlLine
    let lookup: CurlLine
    let isOpen: Bool

    /// An example request, in the parts before and after the server's address.
    struct CurlLine: ViewModel {
        let label: String
        let server: String
        let start: String
        let rest: String
    }

    init(_ visit: Visit, isOpen: Bool) async throws {
        self.isOpen = isOpen
        let zoneID = visit.place.zoneID.flatMap { visit.hasFeed($0) ? $0 : nil } ?? visit.customZones.first?.zoneID
        zone = zoneID.map(visit.zoneName) ?? "Notes"
        let counts =
            if let zoneID { try await visit.measure { try await visit.counts(in: zoneID) } } else { ZoneCounts?.none }
        let type =
            counts?.records.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key ?? visit.types.first?.name ?? "Note"
        let total = counts?.total ?? 0
        count = counts.map { Digits.count($0.total, "record") }
        requests = Digits.count(max(1, (total + Self.pageSize - 1) / Self.pageSize), "request")
        let address = visit.place.address
        let scope: DatabaseScope = address.scope == .public ? .private : address.scope
        let database = "\(address.container)/\(address.environment.rawValue)/\(scope.rawValue)"
        let start =
            "curl -s \(SignedIn.curlOption)"
            + (visit.place.user.map { "-H 'X-Skylight-User: \($0.shellEscaped)' " } ?? "") + "'"
        let identity = Self.identity(zoneID ?? ZoneID(zoneName: "Notes"), scope: scope)
        func post(_ service: String, _ label: String, _ members: [(Name, JSONValue)]) -> CurlLine {
            let body = JSONWriter.bytes(
                of: .object(JSONObject(members.map { JSONObject.Member(name: $0.0, value: $0.1) })))
            return CurlLine(
                label: label, server: visit.server, start: start,
                rest: "/database/1/\(database)/\(service)' -d '\(String(decoding: body, as: UTF8.self).shellEscaped)'")
        }
        query = post(
            "records/query", "Recent records",
            [
                ("zoneID", identity),
                (
                    "query",
                    [
                        "recordType": .string(type.string),
                        "sortBy": [["systemFieldName": "modifiedTimestamp", "ascending": false]],
                    ]
                ),
                ("resultsLimit", 50),
            ])
        playback = post(
            "changes/zone", "A pull without fields", [("zones", [["zoneID": identity, "desiredKeys": []]])])
        pull = post(
            "changes/zone", "A pull since the token", [("zones", [["zoneID": identity, "syncToken": "TOKEN"]])])
        lookup = post("zones/lookup", "The zone and its current token", [("zones", [identity])])
        var parameters = [(name: "zone", value: zone)]
        if scope == .shared, let owner = zoneID?.ownerRecordName { parameters.append(("owner", owner.string)) }
        current = CurlLine(
            label: "The current token alone", server: visit.server, start: start,
            rest: FormFields.url("/skylight/1/\(database)/token/current", parameters) + "'")
    }

    private static func identity(_ zoneID: ZoneID, scope: DatabaseScope) -> JSONValue {
        var object = JSONObject([JSONObject.Member(name: "zoneName", value: .string(zoneID.zoneName.string))])
        if scope == .shared, let owner = zoneID.ownerRecordName { object["ownerRecordName"] = .string(owner.string) }
        return .object(object)
    }
}

extension PastedValue {
    /// The beginning of the text on one line, or why it is not shown.
    var line: String {
        omission ?? String(shown.prefix(160).map { $0.isNewline ? " " : $0 })
    }
}
