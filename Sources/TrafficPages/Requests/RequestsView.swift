internal import Accounts
package import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The page Requests: the requests of clients to the web services, the latest first.
package struct RequestsView: Page {
    package static let template = "requests"
    package static let tab = Tab.requests

    /// The number of requests per page, and the maximum number that a live page receives at once.
    static let limit = 100
    private static let liveLimit = 200
    /// The maximum number of requests to examine for one answer to a live page.
    private static let scanLimit = 4000
    /// The same limit for searches in bodies.
    private static let searchLimit = 1000

    struct Live: ViewModel {
        /// The address for newer requests, without the position, and the position after which they came.
        let address: String
        let after: String
    }

    struct EmptyList: ViewModel {
        let heading: String
        let text: String
        /// The part of an example request after the server's address.
        let example: String?
        let server: String
    }

    package let title = Self.tab.title
    let action: String
    let hidden: [Frame.Hidden]
    let areas: [Choice]
    let operations: [Choice]
    let user: UserField
    let clients: [Choice]
    let text: String
    let errors: Choice
    let onlyWarnings: Bool
    let clear: String?
    let live: Live?
    let warnings: [WarningView]
    let nothing: EmptyList?
    let rows: [RequestRow]
    /// The position in the log after the newest request examined.
    let newest: String?
    /// A note about requests after the last position that the log no longer has.
    let missed: String?
    /// True if the last position belongs to an earlier run of the server.
    let isAnotherRun: Bool
    let hasNewer: Bool
    let count: String
    let kept: String
    let newer: String?
    let older: String?
}

extension RequestsView {
    /// One request, or all.
    package static func answer(_ visit: Visit) async throws -> Answer {
        guard let id = visit.fields.text("id") else { return .page(try await load(visit)) }
        return .page(try await RequestView.load(id, visit))
    }

    private static func load(_ visit: Visit) async throws -> RequestsView {
        let form = RequestsForm(visit)
        if let after = visit.fields["after"] { return try await newer(than: after, form, visit) }
        // The live page gets later requests by itself, so this page stops at the current position.
        let cursor = visit.log.cursor
        let before = visit.fields.text("before")
        let found = visit.log.search(limit + 1, before: before) { $0.number <= cursor && form.wants($0, $1) }
        let shown = Array(found.prefix(limit))
        let isFirst = before == nil
        return try await RequestsView(
            shown, form, visit, live: isFirst && visit.log.isOn ? live(form, after: cursor, visit) : nil,
            newest: cursor, missed: 0, isAnotherRun: false, hasNewer: false,
            newer: isFirst ? nil : visit.place.link("requests", form.parameters),
            older: found.count > limit
                ? shown.last.map { visit.place.link("requests", form.parameters + [("before", $0.id)]) } : nil)
    }

    /// The requests after a position in the log, for a live page.
    private static func newer(than text: String, _ form: RequestsForm, _ visit: Visit) async throws -> RequestsView {
        // Positions restart with each run of the server, so a position of another run is ignored.
        let place = place(text, in: visit.log)
        let start = place ?? -1
        let news = form.text.isEmpty ? unsearched(after: start, form, visit) : searched(after: start, form, visit)
        return try await RequestsView(
            news.requests, form, visit, live: nil, newest: news.cursor, missed: news.missed, isAnotherRun: place == nil,
            hasNewer: news.cursor < visit.log.cursor,
            newer: visit.place.link("requests", form.parameters), older: nil)
    }

    /// A position in the log as text, including the run of the server.
    private static func text(of place: Int64, in log: RequestLog) -> String { "\(log.run).\(place)" }

    /// - Returns: `nil` for a position of another run.
    private static func place(_ text: String, in log: RequestLog) -> Int64? {
        guard text.hasPrefix(log.run + "."), let place = Int64(text.dropFirst(log.run.count + 1)),
            (-1...log.cursor).contains(place)
        else { return nil }
        return place
    }

    /// Requests after a position, newest first, within the limits of one answer.
    private struct News {
        var requests: [ServedRequest] = []
        var cursor: Int64
        var missed: Int64 = 0
    }

    private static func unsearched(after place: Int64, _ form: RequestsForm, _ visit: Visit) -> News {
        var news = News(cursor: place)
        var scanned = 0
        while news.requests.count < liveLimit, scanned < scanLimit {
            let page = visit.log.page(after: news.cursor, limit: liveLimit)
            news.missed += page.missed
            news.cursor = page.cursor
            news.requests += page.requests.filter { form.wants($0, nil) }
            scanned += page.requests.count
            if page.requests.count < liveLimit { break }
        }
        news.requests.reverse()
        return news
    }

    /// The same with a search in bodies, which the log performs from the newest request on.
    private static func searched(after place: Int64, _ form: RequestsForm, _ visit: Visit) -> News {
        let missed = visit.log.page(after: place, limit: 1).missed
        let first = place + missed
        let end = min(visit.log.cursor, first + Int64(searchLimit))
        let found = visit.log.search(searchLimit) { $0.number > first && $0.number <= end && form.wants($0, $1) }
        return News(requests: found, cursor: end, missed: missed)
    }

    private static func live(_ form: RequestsForm, after cursor: Int64, _ visit: Visit) -> Live {
        Live(
            address: visit.place.link("requests", form.parameters + [("after", "")]),
            after: text(of: cursor, in: visit.log))
    }

    private init(
        _ requests: [ServedRequest], _ form: RequestsForm, _ visit: Visit, live: Live?, newest: Int64, missed: Int64,
        isAnotherRun: Bool, hasNewer: Bool,
        newer: String?, older: String?
    ) async throws {
        let place = visit.place
        action = "\(place.path)/requests"
        hidden = place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) }
        areas = [
            Choice("", "to this server", isSelected: form.area == .server),
            Choice(
                "container", "to \(place.address.container), \(place.address.environment.rawValue)",
                isSelected: form.area == .container),
            Choice("database", "to its \(place.address.scope.rawValue) database", isSelected: form.area == .database),
        ]
        operations = Self.choices("all operations", Self.operationNames.map { ($0, $0) }, form.operation)
        user = UserField(
            visit.people, name: "by", label: "User", mark: "data-submit", none: "all users", selected: form.by)
        var known: Set<String> = []
        let identities = visit.log.clients.clients.map { ($0.id.client, $0.identity.label) }.filter {
            known.insert($0.0).inserted
        }
        clients = Self.choices("all clients", identities, form.client)
        text = form.text
        errors =
            form.since == nil
            ? Choice("1", "errors only", isSelected: form.onlyErrors)
            : Choice(RequestLog.recentErrors, "errors of apps in the last hour", isSelected: true)
        onlyWarnings = form.onlyWarnings
        clear = form.isEmpty ? nil : place.link("requests")
        self.live = live
        warnings = WarningView.all(on: requests)
        let now = Timestamp.now()
        let growth = try await SchemaGrowth(of: requests, visit)
        rows = requests.map { RequestRow($0, growth, at: now, visit: visit) }
        nothing = rows.isEmpty ? EmptyList(form, visit) : nil
        self.newest = Self.text(of: newest, in: visit.log)
        self.isAnotherRun = isAnotherRun
        self.missed = missed > 0 ? String(missed) : nil
        self.hasNewer = hasNewer
        count = Digits.count(rows.count, "request")
        kept = "latest answer first; the latest \(Digits.grouped(visit.log.capacity)) are kept in memory"
        self.newer = newer
        self.older = older
    }

    /// The most common operations. The form also offers the one that the URL names.
    private static let operationNames = [
        "records/query", "records/lookup", "records/modify", "records/changes", "changes/database", "changes/zone",
        "zones/list", "zones/lookup",
        "zones/modify", "zones/changes", "assets/upload", "users/caller",
    ]

    private static func choices(_ all: String, _ values: [(value: String, text: String)], _ selected: String?)
        -> [Choice]
    {
        var choices = [Choice("", all, isSelected: selected == nil)]
        choices += values.map { value, text in
            Choice(value, text, isSelected: selected.map { Name($0) == Name(value) } ?? false)
        }
        if let selected, !choices.contains(where: \.isSelected) {
            choices.append(Choice(selected, selected, isSelected: true))
        }
        return choices
    }
}

extension RequestsView.EmptyList {
    fileprivate init(_ form: RequestsForm, _ visit: Visit) {
        server = visit.server
        if !visit.log.isOn {
            (heading, text, example) = ("Requests are not kept", "The request log is off (--request-log 0).", nil)
        } else if form.isEmpty {
            let address = visit.place.address
            heading = "No request yet"
            text =
                "This page lists every request to the web services: the client, the operation, its errors and its time. "
                + "Pages of the console are not listed, except the files and records that they send. Try a request:"
            example =
                "/database/1/\(address.container)/\(address.environment.rawValue)/\(address.scope.rawValue)/zones/list"
        } else {
            (heading, text, example) = ("No request found", "No kept request matches the form.", nil)
        }
    }
}

// MARK: - Form

/// The filters of the page's form.
struct RequestsForm: Sendable {
    /// The targets of the requests.
    enum Area: String, CaseIterable {
        case server = ""
        case container
        case database
    }

    let area: Area
    let operation: String?
    /// The handle of a user.
    let by: String?
    /// ``ClientIdentity/id`` of a client.
    let client: String?
    let text: String
    let onlyErrors: Bool
    /// The start of what the sidebar counts: recent errors of apps; `nil` to list all.
    let since: Timestamp?
    let onlyWarnings: Bool
    private let filter: RequestFilter
    private let words: RequestFilter
    private let bytes: [UInt8]
    private let isOfNobody: Bool

    init(_ visit: Visit) {
        let fields = visit.fields
        area = fields.text("in").flatMap(Area.init) ?? .server
        operation = fields.text("operation")
        by = fields.text("by")
        client = fields.text("client")
        text = fields["text"]?.trimmingSpaces ?? ""
        since = fields["errors"] == RequestLog.recentErrors ? visit.log.startOfRecent(at: .now()) : nil
        onlyErrors = since != nil || fields["errors"] == "1"
        onlyWarnings = fields["warnings"] == "1"
        bytes = Array(text.utf8)
        let user = fields.text("by").flatMap { visit.people.user(named: $0)?.userRecordName }
        isOfNobody = by != nil && user == nil
        var filter = RequestFilter()
        if area != .server {
            filter.container = visit.place.address.container
            filter.environment = visit.place.address.environment
        }
        if area == .database { filter.scope = visit.place.address.scope }
        filter.operation = operation
        filter.userRecordName = user
        filter.client = client
        filter.errorsOnly = onlyErrors
        filter.warningsOnly = onlyWarnings
        self.filter = filter
        var words = RequestFilter()
        words.text = text
        self.words = words
    }

    var isEmpty: Bool { parameters.isEmpty }

    var parameters: [(name: String, value: String)] {
        let all: [(String, String?)] = [
            ("in", area == .server ? nil : area.rawValue), ("operation", operation), ("by", by), ("client", client),
            ("text", text.isEmpty ? nil : text),
            ("errors", since != nil ? RequestLog.recentErrors : onlyErrors ? "1" : nil),
            ("warnings", onlyWarnings ? "1" : nil),
        ]
        return all.compactMap { name, value in value.map { (name: name, value: $0) } }
    }

    /// True if a request passes the filters. A page of the console that followed changes is listed only if one asks for
    /// the console. The search text matches the row of the request or the raw bytes of its bodies.
    func wants(_ request: ServedRequest, _ bodies: RequestBodies?) -> Bool {
        guard !isOfNobody, filter.matches(request) else { return false }
        if client == nil, request.isStream, request.client.isOfSkylight { return false }
        if let since, request.started < since || request.client.isOfSkylight { return false }
        if text.isEmpty || words.matches(request) { return true }
        return bodies?.request?.bytes.holds(bytes) ?? false || bodies?.response?.bytes.holds(bytes) ?? false
    }
}

extension [UInt8] {
    /// True if the array contains the other bytes.
    func holds(_ needle: [UInt8]) -> Bool {
        guard let first = needle.first else { return true }
        return withUnsafeBufferPointer { bytes in
            needle.withUnsafeBufferPointer { needle in
                guard bytes.count >= needle.count else { return false }
                var start = 0
                while start <= bytes.count - needle.count {
                    if bytes[start] == first {
                        var length = 1
                        while length < needle.count, bytes[start + length] == needle[length] { length += 1 }
                        if length == needle.count { return true }
                    }
                    start += 1
                }
                return false
            }
        }
    }
}

// MARK: - Rows

/// A row of the request table.
struct RequestRow: ViewModel {
    let href: String
    let iso: String
    /// The time in UTC, without the date if it is today.
    let time: String
    let operation: String
    /// `iCloud` if the request was passed on there.
    let passedTo: String?
    let status: String
    /// `good`, `warn` or `bad`.
    let tone: String
    let errors: String?
    let warnings: [WarningView]
    /// The reason why the credentials were refused, in a few words and in a sentence.
    let refusedFor: String?
    let refusal: String?
    /// The line below the cells.
    let remark: RequestRemark?
    let isFailed: Bool
    let user: String
    let client: String
    let clientDetails: String
    let database: String
    let zones: String
    /// The index that a query used.
    let index: String?
    let indexDetails: String?
    let milliseconds: String
    let records: String
    let bytesIn: String
    let bytesOut: String

    init(_ request: ServedRequest, _ growth: SchemaGrowth, at now: Timestamp, visit: Visit) {
        href = visit.place.link("requests", [("id", request.id)])
        iso = request.started.isoText
        let text = request.started.utcText
        time = text.prefix(10) == now.utcText.prefix(10) ? String(text.dropFirst(11)) : text
        operation = request.operation
        passedTo = request.isPassedOn ? "iCloud" : nil
        status = request.statusWords
        tone = request.tone
        errors = request.errorWords
        warnings =
            request.warnings.map { WarningView($0) }
            + [growth.mark(of: request, in: visit.place.address.container)].compactMap(\.self)
        refusedFor = request.authentication?.problemWords
        refusal = request.authentication?.problem?.sentence
        remark = RequestRemark(request)
        isFailed = request.hasErrors
        user = request.userRecordName.map(visit.people.name) ?? "–"
        client = request.client.label
        clientDetails = request.client.details ?? "The client sent no details"
        database = request.address.map { visit.place.words(for: $0) } ?? request.container?.description ?? "–"
        zones = request.zoneWords
        index = request.plan.map { $0.index ?? "none" }
        indexDetails = request.plan?.sentence
        milliseconds = "\(Duration.milliseconds(request.milliseconds).millisecondsText) ms"
        records = request.records == 0 ? "" : Digits.grouped(request.records)
        bytesIn = Self.bytes(request.bytesIn)
        bytesOut = Self.bytes(request.bytesOut)
    }

    /// A short size, because the table has many columns.
    private static func bytes(_ count: Int) -> String {
        count == 0 ? "" : count < 1000 ? "\(count) B" : Digits.bytes(Int64(count))
    }

    func child(named name: String) -> Any? {
        switch name {
        case "href": href
        case "iso": iso
        case "time": time
        case "operation": operation
        case "passedTo": passedTo ?? Absent()
        case "status": status
        case "tone": tone
        case "errors": errors ?? Absent()
        case "warnings": warnings
        case "refusedFor": refusedFor ?? Absent()
        case "refusal": refusal ?? Absent()
        case "remark": remark ?? Absent()
        case "isFailed": isFailed
        case "user": user
        case "client": client
        case "clientDetails": clientDetails
        case "database": database
        case "zones": zones
        case "index": index ?? Absent()
        case "indexDetails": indexDetails ?? Absent()
        case "milliseconds": milliseconds
        case "records": records
        case "bytesIn": bytesIn
        case "bytesOut": bytesOut
        default: nil
        }
    }
}

/// Why a request failed, and what was rehearsed in it.
struct RequestRemark: ViewModel {
    /// The names of the rehearsals.
    let rehearsed: String?
    let reason: String?

    /// The maximum number of characters of the reason. The page of the request has all.
    private static let limit = 200

    /// - Returns: `nil` if there is nothing to say.
    init?(_ request: ServedRequest) {
        rehearsed = request.rehearsals
        reason = (request.error ?? request.itemErrors.first).map { error in
            String(((error.name.map { "\($0.string): " } ?? "") + error.reason).prefix(Self.limit))
        }
        if rehearsed == nil, reason == nil { return nil }
    }
}

extension ServedRequest {
    /// The first zones by name.
    var zoneWords: String {
        if zoneIDs.isEmpty { return "" }
        let shown = zoneIDs.prefix(2).map { $0.isDefault ? "default" : $0.zoneName.string }.joined(separator: ", ")
        return zoneIDs.count > 2 ? "\(shown) and \(zoneIDs.count - 2) more" : shown
    }
}

extension Place {
    /// A database, described by its differences from the current one.
    func words(for other: DatabaseAddress) -> String {
        var parts = [other.scope.rawValue]
        if other.environment != address.environment { parts.append(other.environment.rawValue) }
        if other.container != address.container { parts.append(other.container.description) }
        return parts.joined(separator: ", ")
    }
}
