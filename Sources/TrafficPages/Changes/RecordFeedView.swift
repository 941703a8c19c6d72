internal import Accounts
internal import AssetStore
internal import Console
internal import RecordStore
internal import Records

/// The tab Changes in a zone: the current records, or the changes since a token, in commit order.
struct RecordFeedView: Page {
    static let template = "changes_records"
    static let tab = Tab.changes

    struct Row: ViewModel {
        let anchor: String
        let position: String
        let kind: String
        let kindText: String
        let recordName: String
        let title: String?
        let href: String
        let type: String
        let fields: String
        /// The asset files of the record, with download links.
        let assets: [ValueView]
        let when: ValueView
        let by: String
        let device: String?
        let tag: String
        let marks: [OrderWarning]
        /// True for a record before one that it depends on.
        let isEarly: Bool

        func child(named name: String) -> Any? {
            switch name {
            case "anchor": anchor
            case "position": position
            case "kind": kind
            case "kindText": kindText
            case "recordName": recordName
            case "title": title ?? Absent()
            case "href": href
            case "type": type
            case "fields": fields
            case "assets": assets
            case "when": when
            case "by": by
            case "device": device ?? Absent()
            case "tag": tag
            case "marks": marks
            default: nil
            }
        }
    }

    struct Footer: ViewModel {
        let count: String
        let left: String?
        let next: String?
        /// The label of the token in the footer.
        let tokenName: String
        /// The label of the pull that starts with this token.
        let againName: String
    }

    let title: String
    /// The name of the zone.
    let heading: String
    /// What is asked.
    let folded: FoldedForm
    let action: String
    let hidden: [Frame.Hidden]
    let zones: [Choice]
    let types: [Choice]
    let limits: [Choice]
    let token: TokenInput
    /// The end token; empty for the present.
    let upto: TokenInput
    let isSince: Bool
    let isBetween: Bool
    let keys: DesiredKeysMenu
    let isReverse: Bool
    let complaint: PageError?
    let refusal: SpanRefusal?
    let timeline: FeedTimeline?
    let rows: [Row]
    /// An explanation of the order marks, if the page has any.
    let orderNote: String?
    let nothing: String?
    /// The consequence for the client.
    let nothingMeans: String?
    /// The form for a record of a zone that has none.
    let newRecord: String?
    let emptyPage: Bool
    /// Records that changed after the second token.
    let changedAgain: ChangedAgain?
    let noFeed: NoFeed?
    let newToken: TokenOutput?
    /// The current token of the zone.
    let tokenForNow: String?
    let explainAction: String
    /// The data for scripts that replay and follow the feed; `nil` if there is no answer.
    let feed: FeedPanel?
    /// The pull as client code; `nil` if there is no feed.
    let code: CodePanel?
    let footer: Footer?
}

extension RecordFeedView {
    static func load(_ visit: Visit, zoneID: ZoneID) async throws -> RecordFeedView {
        let form = RecordFeedForm(visit.fields)
        let place = visit.place
        let hasFeed = visit.hasFeed(zoneID)
        let token = try await TokenInput(form.tokenText, isUsed: form.isSince, visit: visit)
        let upto = try await TokenInput(form.uptoText, isUsed: true, visit: visit)
        let span = try await FeedSpan(form, of: zoneID, visit: visit)
        let isBetween = form.upto != nil
        var page: ZoneChangesPage?
        var rows: [Row] = []
        var complaint: PageError?
        var changedAgain: ChangedAgain?
        if hasFeed {
            do {
                if span.refusal == nil, form.listing == .asked {
                    let answer = try await span.page(form, of: zoneID, visit: visit)
                    page = answer
                    rows = try await Self.rows(answer, of: span, form: form, visit: visit)
                } else {
                    try await span.check(form, of: zoneID, visit: visit)
                }
                if span.refusal == nil, isBetween {
                    changedAgain = try await ChangedAgain(
                        span, form, in: zoneID, isLast: page.map { !$0.moreComing } ?? false, visit: visit)
                }
            } catch let error as RecordError {
                complaint = PageError(error, advice: TokenAdvice.sentences(for: error, sent: form.since?.text))
            }
        }
        let current = visit.zones.first { place.isSame($0.zoneID, zoneID) }?.syncToken
        let timeline = hasFeed ? try await FeedTimeline(page, of: span, form, in: zoneID, visit: visit) : nil
        var skipped: Int?
        if let page, page.moreComing, !form.isReverse, !isBetween {
            skipped = try await visit.measure {
                try await visit.database.changeCount(in: zoneID, since: page.syncToken)
            }
        }
        let isEmpty = page.map { $0.changes.isEmpty && !$0.moreComing } ?? false
        let nothing = isEmpty ? Self.nothing(form) : nil
        let offersNew = isEmpty && form.since == nil && !isBetween ? try await visit.canSave(in: zoneID) : false
        return RecordFeedView(
            title: "Changes · \(visit.zoneName(zoneID))", heading: visit.zoneName(zoneID),
            folded: folded(form, page, of: span, isChecked: changedAgain != nil, visit: visit),
            action: "\(place.path)/changes",
            hidden: place.userParameters.map { Frame.Hidden(name: $0.name, value: $0.value) },
            zones: visit.zoneChoices(allowsAll: true),
            types: [Choice("", "all types", isSelected: form.type == nil)]
                + visit.types.map { Choice($0.name.string, $0.name.string, isSelected: $0.name == form.type) },
            limits: Set([50, 100, RequestObject.pageLimit, form.limit]).sorted().map {
                Choice(String($0), String($0), isSelected: $0 == form.limit)
            },
            token: token, upto: upto, isSince: form.since != nil, isBetween: isBetween,
            keys: DesiredKeysMenu(form.keys, visit), isReverse: form.isReverse,
            complaint: complaint, refusal: complaint == nil ? span.refusal : nil, timeline: timeline, rows: rows,
            orderNote: orderNote(rows),
            nothing: nothing?.what, nothingMeans: nothing?.means,
            newRecord: offersNew ? place.link("record/new", form.type.map { [("type", $0.string)] } ?? []) : nil,
            emptyPage: page.map { $0.changes.isEmpty && $0.moreComing } ?? false,
            changedAgain: changedAgain,
            noFeed: hasFeed
                ? nil : NoFeed(place, reason: place.hasFeed ? NoFeed.defaultZoneReason : NoFeed.publicReason),
            newToken: page.map { page in
                TokenOutput(
                    text: page.syncToken.text, again: place.link("changes", form.parameters(since: page.syncToken)),
                    explain: place.link("token", [("token", page.syncToken.text)]))
            },
            tokenForNow: hasFeed ? current.map { place.link("changes", form.parameters(since: $0)) } : nil,
            explainAction: "\(place.path)/token",
            feed: isBetween
                ? nil
                : page.flatMap { page in
                    // The token of an unfinished reverse pull can't be followed, and after a page of a first pull
                    // nobody wants all old changes as new ones, so following starts at the present.
                    let isOpen =
                        page.moreComing && (form.isReverse || form.since == nil || span.begin?.progress == .firstPull)
                    return (isOpen ? current : page.syncToken).map {
                        FeedPanel(visit, zoneID: page.zoneID, form: form, start: $0, skipped: skipped)
                    }
                },
            // The API has no requests with an end token.
            code: hasFeed && !isBetween ? CodePanel(changesOf: zoneID, form: form, visit: visit) : nil,
            footer: page.map { Footer($0, form: form, visit: visit) })
    }

    /// - Parameter isChecked: true if the page answers without a list of its own.
    private static func folded(
        _ form: RecordFeedForm, _ page: ZoneChangesPage?, of span: FeedSpan, isChecked: Bool, visit: Visit
    ) -> FoldedForm {
        let what =
            if form.upto != nil {
                "records that last changed between two tokens"
            } else if form.since != nil {
                span.begin.map { "changes after \(Digits.grouped($0.position))" } ?? "changes since the token"
            } else { "all records, by latest change" }
        let outcome = page.map { page in
            page.changes.isEmpty
                ? "no changes" : Digits.count(page.changes.count, "change") + (page.moreComing ? ", more coming" : "")
        }
        let positions = page?.changes.compactMap(\.position) ?? []
        let part = positions.min().flatMap { first in
            positions.max().map { "positions \(Digits.grouped(first)) to \(Digits.grouped($0))" }
        }
        return FoldedForm(
            outcome: outcome ?? (isChecked ? "changed again" : "not fetched"),
            facts: [part, what].compactMap(\.self), chips: chips(form, span, visit),
            isAnswered: page != nil || isChecked, visit: visit)
    }

    private static func chips(_ form: RecordFeedForm, _ span: FeedSpan, _ visit: Visit) -> [Chip] {
        func link(_ form: RecordFeedForm) -> String {
            visit.place.link("changes", form.parameters(since: form.since, upto: form.upto))
        }
        let asIs = form.parameters(since: form.since, upto: form.upto)
        let edit = visit.place.link("changes", asIs + [FoldedForm.editing])
        func chip(_ lead: String, _ value: String, without change: (inout RecordFeedForm) -> Void) -> Chip {
            var changed = form
            change(&changed)
            return Chip(lead, value, edit: edit, removal: link(changed))
        }
        func words(_ token: TokenExplanation?) -> String {
            token.map { "position \(Digits.grouped($0.position))" } ?? "a token"
        }
        var chips: [Chip] = []
        if form.since != nil { chips.append(chip("since", words(span.begin)) { $0.isSince = false }) }
        if form.upto != nil { chips.append(chip("up to", words(span.end)) { $0.uptoText = "" }) }
        if let type = form.type { chips.append(chip("only", type.string) { $0.type = nil }) }
        if form.keys.names != nil { chips.append(chip("returning", form.keys.text) { $0.keys.clear() }) }
        if form.isReverse, form.upto == nil { chips.append(chip("order", "newest first") { $0.isReverse = false }) }
        return chips
    }

    private static func nothing(_ form: RecordFeedForm) -> (what: String, means: String) {
        if let type = form.type {
            if form.upto != nil {
                return (
                    "No changes of type \(type) between the two tokens.",
                    "No record of this type was last changed between the tokens. Other types may have changes."
                )
            }
            return form.since == nil
                ? ("The zone has no records of type \(type).", "It may have records of other types.")
                : (
                    "No changes of type \(type) since the token.",
                    "The client has everything of this type. There may be changes of other types."
                )
        }
        if form.upto != nil {
            return (
                "No changes between the two tokens.",
                "No record\(form.type.map { " of the type \($0)" } ?? "") was last changed between the tokens."
            )
        }
        return form.since == nil
            ? ("The zone has no records.", "Its token can be used: later saves come after it.")
            : (
                "No changes since the token.",
                "The client has everything. The new token below has the position of the old one."
            )
    }

    private static func orderNote(_ rows: [Row]) -> String? {
        let count = rows.count(where: \.isEarly)
        if count == 0 { return nil }
        return
            "\(Digits.count(count, "record")) here \(count == 1 ? "comes" : "come") before a record \(count == 1 ? "it depends" : "they depend") on. The first before each is marked."
    }

    private static func rows(_ page: ZoneChangesPage, of span: FeedSpan, form: RecordFeedForm, visit: Visit)
        async throws -> [Row]
    {
        let decoded = try page.changes.map { try $0.record?.fields.decoded() ?? [] }
        let links = try await visit.links(toAssetsOf: page.changes.compactMap(\.record))
        // Newest first, every record comes before its dependencies, so the marks would carry no information.
        let marks = form.isReverse ? [:] : try await OrderWarning.marks(page.changes, fields: decoded, visit: visit)
        let titles = visit.titles
        let isFirst = form.since == nil || span.begin?.progress == .firstPull
        return zip(page.changes.indices, page.changes).map { index, change in
            let record = change.record
            let isDeletion = change.kind == .deleted
            return Row(
                anchor: change.anchor(at: index), position: change.positionText,
                kind: change.kindName(isFirst: isFirst), kindText: change.kindText(isFirst: isFirst),
                recordName: change.recordID.recordName.string,
                title: record.flatMap { record in
                    titles.title(
                        of: record.recordType,
                        Dictionary(decoded[index].map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first }))
                },
                href: visit.place.link(toRecord: change.recordID.recordName, in: page.zoneID),
                type: record?.recordType.string ?? RecordChange.unknownText,
                fields: isDeletion
                    ? "–"
                    : form.keys.isSystemOnly
                        ? "not requested" : decoded[index].map(\.name.string).joined(separator: ", "),
                assets: links.map { Self.assets(decoded[index], $0) } ?? [],
                when: record.map { ValueView(.time($0.modified.timestamp)) } ?? .missing,
                by: record.map { visit.people.name(of: $0.modified.userRecordName) } ?? RecordChange.unknownText,
                device: record?.modified.device, tag: record?.recordChangeTag ?? RecordChange.unknownText,
                marks: marks[index] ?? [], isEarly: marks[index] != nil)
        }
    }
}

extension RecordFeedView {
    /// The number of file links on a line.
    private static let assetLimit = 3

    private static func assets(_ fields: [Field], _ links: AssetLinks) -> [ValueView] {
        let all = fields.lazy.flatMap { field in field.value.assets.map { (field.name, $0) } }
        return all.prefix(assetLimit).map { name, asset in
            ValueView(
                .asset(
                    asset.shownName(in: name), href: links.downloadURL(of: asset, in: name),
                    size: Digits.bytes(asset.size)))
        }
    }
}

extension RecordFeedView.Footer {
    fileprivate init(_ page: ZoneChangesPage, form: RecordFeedForm, visit: Visit) {
        let isEnd = form.upto != nil && !page.moreComing
        self.init(
            count: Digits.count(page.changes.count, "change"),
            left: page.moreComing ? "more coming" : isEnd ? "nothing more up to the token" : "nothing more",
            next: page.moreComing
                ? visit.place.link(
                    "changes", form.parameters(since: page.syncToken, upto: form.upto, isZoomed: form.isZoomed)) : nil,
            tokenName: isEnd ? "second token" : "new token", againName: isEnd ? "Fetch later changes" : "Fetch again")
    }
}

extension RecordChange {
    /// Shown for a value that the store does not know.
    static let unknownText = "–"

    /// The name of the kind in styles and scripts; `saved` if it is not known whether the save created the record.
    var kindName: String { kind?.rawValue ?? "saved" }
    var kindText: String { kind == .recreated ? "re-created" : kindName }

    /// - Parameter isFirst: true in a pull without a token. To it every record is new, so the dates tell whether it was
    ///   modified.
    func kindName(isFirst: Bool) -> String {
        if isFirst, kind == .created, let record, record.created.timestamp < record.modified.timestamp {
            return Kind.modified.rawValue
        }
        return kindName
    }

    func kindText(isFirst: Bool) -> String { kind == .recreated ? kindText : kindName(isFirst: isFirst) }

    var positionText: String { position.map { Digits.grouped($0) } ?? Self.unknownText }

    /// The anchor of the change's line on a page.
    func anchor(at index: Int) -> String { position.map { "p\($0)" } ?? "line\(index)" }
}

// MARK: - Form

/// The input of the page's form.
struct RecordFeedForm: Sendable {
    /// The part of the feed that the page lists.
    enum Listing: Sendable, Equatable {
        /// The requested part of the feed.
        case asked
        /// Records that changed again after the second token, starting at a token; `nil` for all of them.
        case changedAgain(from: ChangeToken?)
    }

    var isSince: Bool
    let tokenText: String
    /// The end token; empty for the present.
    var uptoText: String
    let listing: Listing
    /// True if the timeline shows only the requested part.
    let isZoomed: Bool
    var keys: DesiredKeys
    var isReverse: Bool
    var type: Name?
    let limit: Int

    init(_ fields: FormFields) {
        isSince = fields["since"] != nil
        tokenText = (fields["token"] ?? "").filter { !$0.isWhitespace }
        uptoText = (fields["upto"] ?? "").filter { !$0.isWhitespace }
        let again = uptoText.isEmpty ? nil : fields["again"]
        listing = again.map { .changedAgain(from: $0.isEmpty ? nil : ChangeToken(text: $0)) } ?? .asked
        isZoomed = fields["zoom"] != nil
        keys = DesiredKeys(fields)
        isReverse = fields["order"] == "reverse"
        type = fields.text("type").map { Name($0) }
        limit = fields.number("limit", in: 1...RequestObject.pageLimit) ?? 100
    }

    var since: ChangeToken? { isSince && !tokenText.isEmpty ? ChangeToken(text: tokenText) : nil }

    var upto: ChangeToken? { uptoText.isEmpty ? nil : ChangeToken(text: uptoText) }

    /// The URL parameters of the same request for another part of the feed.
    /// - Parameters:
    ///   - token: the start token; `nil` for the beginning.
    ///   - upto: the end token; `nil` for the present.
    ///   - again: lists the records that changed again after the end, starting at this token. An empty token is the end
    ///     itself.
    func parameters(
        since token: ChangeToken?, upto: ChangeToken? = nil, again: ChangeToken? = nil, isZoomed: Bool = false
    ) -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        if let token { parameters += [("since", "1"), ("token", token.text)] }
        if let upto { parameters.append(("upto", upto.text)) }
        if let again { parameters.append(("again", again.text)) }
        if isZoomed { parameters.append(("zoom", "1")) }
        parameters += keys.parameters
        if isReverse { parameters.append(("order", "reverse")) }
        if let type { parameters.append(("type", type.string)) }
        if limit != 100 { parameters.append(("limit", String(limit))) }
        return parameters
    }
}

// MARK: - Replaying and following

/// The data that a script needs to replay and follow a feed (docs/feeds.md): addresses, and names of users.
struct FeedPanel: ViewModel {
    struct Person: ViewModel {
        let recordName: String
        let name: String
    }

    let playback: String
    let follow: String
    /// The address of a record's page, without the record name.
    let record: String
    /// The address of the changes since a token, without the token.
    let again: String
    /// The address that explains a token, without the token.
    let explain: String
    /// The token at which following starts.
    let start: String
    /// `1,357 changes` between this page and the present; `nil` if they are not counted.
    let skipped: String?
    /// The most recently active users. Pages show other users by their record names.
    let people: [Person]
    private static let peopleLimit = 200
    /// The fields that usually have the title of a record, separated by spaces.
    let usualTitles: String
    /// The chosen fields, by type.
    let titles: [TitleField]

    struct TitleField: ViewModel {
        let recordType: String
        let field: String
    }

    init(_ visit: Visit, zoneID: ZoneID, form: RecordFeedForm, start token: ChangeToken, skipped: Int?) {
        let place = visit.place.inZone(zoneID)
        var parameters = [(name: "zone", value: zoneID.zoneName.string)]
        if place.address.scope == .shared, let owner = zoneID.ownerRecordName {
            parameters.append(("owner", owner.string))
        }
        if let user = place.user { parameters.append(("skylightUser", user)) }
        // Like every page, the panel shows the stored data, so it excludes injected faults.
        parameters.append(("skylightRehearse", "none"))
        playback = FormFields.url("\(place.feedPath)/playback", parameters)
        follow = FormFields.url("\(place.feedPath)/follow", parameters)
        record = place.link("record", [("name", "")])
        again = place.link("changes", [("since", "1")] + form.parameters(since: nil) + [("token", "")])
        explain = place.link("token", [("token", "")])
        start = token.text
        self.skipped = skipped.map { Digits.count($0, "change") }
        usualTitles = RecordTitles.usualFields.map(\.string).joined(separator: " ")
        titles = visit.titles.chosen.map { TitleField(recordType: $0.key.string, field: $0.value.string) }
        people = visit.people.recent(Self.peopleLimit).map {
            Person(recordName: $0.userRecordName.string, name: $0.displayName)
        }
    }
}

extension Place {
    /// The path of the feeds of this database in the web services.
    fileprivate var feedPath: String {
        "/skylight/1/\(PercentEncoding.encoded(address.container.description))/\(address.environment.rawValue)/\(address.scope.rawValue)/changes"
    }
}
