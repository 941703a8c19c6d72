internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
package import Records
package import RequestLog

/// A confirmation of the last action on the next page. The URL holds only a keyword, so that a link can't put arbitrary
/// text on the page.
package enum Notice: String {
    case zoneCreated = "zone-created"
    case zoneDeleted = "zone-deleted"
    case zonePurged = "zone-purged"
    case shared
    case unshared
    case indexesChanged = "indexes-changed"
    case typeCreated = "type-created"
    case typeRemoved = "type-removed"
    case fieldAdded = "field-added"
    case fieldRemoved = "field-removed"
    case titleChosen = "title-chosen"
    case roleAdded = "role-added"
    case roleRemoved = "role-removed"
    case roleGiven = "role-given"
    case roleTaken = "role-taken"
    case grantsChanged = "grants-changed"
    case userAdded = "user-added"
    case userRemoved = "user-removed"
    case recordCreated = "record-created"
    case recordSaved = "record-saved"
    case recordDeleted = "record-deleted"
    case assetSaved = "asset-saved"
    case assetRemoved = "asset-removed"
    case rehearsalStarted = "rehearsal-started"
    case rehearsalStopped = "rehearsal-stopped"
    case tokensExpired = "tokens-expired"
    case zoneReset = "zone-reset"
    case deployed
    case schemaImported = "schema-imported"
    case environmentReset = "environment-reset"
    case recordRestored = "record-restored"
    case recordsDeleted = "records-deleted"
    case undone
    case querySaved = "query-saved"
    case queryRemoved = "query-removed"
    case tokenRevoked = "token-revoked"
    case keyRevoked = "key-revoked"
    case sessionRevoked = "session-revoked"
    case connected
    case connectionForgotten = "connection-forgotten"
    case conflictSettled = "conflict-settled"
    case shareMade = "share-made"
    case shareChanged = "share-changed"
    case shareStopped = "share-stopped"
    case shareLeft = "share-left"
    case subscriptionSaved = "subscription-saved"
    case subscriptionDeleted = "subscription-deleted"
    case subscriptionFired = "subscription-fired"
    case firedForNothing = "fired-for-nothing"
    case firedForNobody = "fired-for-nobody"
    case nothingSent = "nothing-sent"
    case keyValueSet = "key-value-set"
    case keyValueRemoved = "key-value-removed"
    case snapshotSaved = "snapshot-saved"
    case snapshotDeleted = "snapshot-deleted"
    case snapshotAdded = "snapshot-added"

    /// The sentence for a keyword in the URL; `nil` for an unknown one.
    package static func text(_ word: String?) -> String? {
        switch word.flatMap(Notice.init) {
        case nil: nil
        case .zoneCreated: "The zone is created."
        case .zoneDeleted: "The zone is deleted. The database's changes tell clients."
        case .zonePurged: "The zone is purged. Clients must not upload it again."
        case .shared: "The zone is shared. It is now in the other user's shared database."
        case .unshared: "The zone is no longer shared. The other user's shared database reports it as deleted."
        case .indexesChanged:
            "The indexes are changed. Building an index for many records takes a while; saves continue."
        case .typeCreated: "The record type is created. Add fields to it, or save a record with fields."
        case .typeRemoved: "The record type and its records are deleted."
        case .fieldAdded: "The field is added."
        case .fieldRemoved: "The field and its values are deleted."
        case .titleChosen: "Title field saved. Pages now show it for these records."
        case .roleAdded: "The role is created. Now grant it permissions on a type."
        case .roleRemoved: "The role is deleted."
        case .roleGiven: "The user has the role, starting with the next request."
        case .roleTaken: "The user no longer has the role."
        case .grantsChanged: "The grants are changed."
        case .userAdded: "The user is created."
        case .userRemoved: "The user is deleted and signed out everywhere. The user's data in containers stays."
        case .recordCreated: "The record is created."
        case .recordSaved: "The record is saved."
        case .recordDeleted: "The record is deleted."
        case .assetSaved: "The file is uploaded and saved in the record."
        case .assetRemoved: "The file is removed from the record. Unreferenced files are deleted later."
        case .rehearsalStarted:
            "The rehearsal is active. It affects what clients get; the console shows the stored data."
        case .rehearsalStopped: "The rehearsal has ended."
        case .tokensExpired: "All earlier tokens have expired. Clients must pull without a token."
        case .zoneReset: "The zone was deleted and created again, empty. Its earlier tokens have expired."
        case .deployed: "Deployed: production has the schema of development."
        case .schemaImported: "The schema file is imported."
        case .recordRestored: "The record is restored with a new save."
        case .environmentReset: "Development is reset: it has no records, and the schema of production."
        case .recordsDeleted: "The records are deleted."
        case .undone: "Undone: the records are as they were before."
        case .querySaved: "The query is saved. Saved queries lists it in every environment of the container."
        case .queryRemoved: "The saved query is deleted."
        case .tokenRevoked: "The API token is revoked. Requests with it are refused."
        case .keyRevoked: "The key is revoked. Requests signed with it are refused."
        case .sessionRevoked: "The user is signed out of the app."
        case .connected: "The container is connected."
        case .connectionForgotten: "The connection is forgotten, with its credentials."
        case .conflictSettled: "The conflict is resolved."
        case .shareMade: "The share is created. Open its link to accept it as another user."
        case .shareChanged: "The share is changed. Its participants get it when they next fetch changes."
        case .shareStopped: "Sharing has stopped. The records stay with their owner."
        case .shareLeft: "The user has left the share."
        case .subscriptionSaved: "The subscription is saved. It fires for changes from now on."
        case .subscriptionDeleted: "The subscription is deleted."
        case .firedForNothing:
            "Not fired: none of the last 200 changes is what it is about. Save a record that it is about."
        case .firedForNobody:
            "Not fired: no device of the user has listened since the server started. Add a test device, then fire again."
        case .nothingSent: "Fired with its latest change, and nothing was sent. The list Sent says why."
        case .subscriptionFired:
            "Fired with its latest change. The request log is off (--request-log 0), so the server does not know what the devices have."
        case .keyValueSet: "The key is set. Devices get its value with their next synchronization."
        case .keyValueRemoved: "The key is deleted."
        case .snapshotSaved: "The snapshot is saved."
        case .snapshotDeleted: "The snapshot is deleted."
        case .snapshotAdded: "The snapshot is added. The records of the container are as before: compare or restore it."
        }
    }

    package var parameter: (name: String, value: String) { ("notice", rawValue) }
}

/// The notice of the last action, with the button that undoes it.
package struct NoticeView: ViewModel {
    package struct Undo: ViewModel {
        let action: String
        let fields: [Frame.Hidden]

        package init(action: String, fields: [Frame.Hidden]) {
            (self.action, self.fields) = (action, fields)
        }

        /// - Parameter back: the page after it.
        package init(_ change: UndoableChange, back: String, at place: Place) {
            action = place.link(UndoAction.path)
            fields = [
                Frame.Hidden(name: UndoAction.changeField, value: change.id), Frame.Hidden(name: "back", value: back),
            ]
        }
    }

    let text: String
    /// `nil` if the action can't be undone.
    let undo: Undo?

    /// The parameter of an address with the id of the change that can be undone, or ``noUndo``.
    static let undoField = "undo"
    static let noUndo = "none"

    package init(_ text: String, undo: Undo? = nil) {
        (self.text, self.undo) = (text, undo)
    }

    /// The notice that the address of a page asks for.
    package init?(_ visit: Visit) {
        if let notice = IndexNotice.view(visit) ?? FiredNotice.view(visit) {
            self = notice
            return
        }
        guard let notice = visit.fields["notice"].flatMap(Notice.init), let text = Notice.text(notice.rawValue) else {
            return nil
        }
        let word = visit.fields[Self.undoField]
        let change = word.flatMap { visit.changes.change($0, at: visit.place) }
        undo = change.flatMap { $0.isUndone ? nil : Undo($0, back: visit.here, at: visit.place) }
        let told = change?.text(of: notice) ?? text
        let keeper = visit.connection == nil ? "this server" : "iCloud"
        self.text = word == Self.noUndo ? "\(told) It can’t be undone: \(keeper) keeps no earlier versions." : told
    }

    /// The address of a page with a notice.
    package static func address(_ page: String, _ parameters: [(name: String, value: String)]) -> String {
        page + FormFields.url("", parameters).replacing("?", with: page.contains("?") ? "&" : "?")
    }
}

/// The notice after a subscription was fired, or a notification was sent again. Its keyword comes with the numbers of the notifications, so that it says
/// what has become of them.
package enum FiredNotice {
    /// The maximum number of notifications that it is about.
    private static let limit = 50

    package static func parameter(_ sent: SentNotifications, _ visit: Visit) -> (name: String, value: String) {
        if sent.devices == 0 { return Notice.firedForNobody.parameter }
        if !visit.log.isOn { return Notice.subscriptionFired.parameter }
        if sent.queued.isEmpty { return Notice.nothingSent.parameter }
        let words = [Notice.subscriptionFired.rawValue] + sent.queued.prefix(limit).map { String($0) }
        return ("notice", words.joined(separator: " "))
    }

    /// - Returns: `nil` if the page has another notice or none, or the log has none of the notifications.
    static func view(_ visit: Visit) -> NoticeView? {
        let words = visit.fields["notice"]?.split(separator: " ") ?? []
        guard let first = words.first, first == Notice.subscriptionFired.rawValue else { return nil }
        let address = visit.place.address
        let sent = words.dropFirst().prefix(limit).compactMap { Int64($0) }
            .compactMap { visit.log.notifications.notification($0) }
            .filter { $0.address.container == address.container && $0.address.environment == address.environment }
        if sent.isEmpty { return nil }
        func devices(_ isMeant: (LoggedNotification.Outcome) -> Bool) -> [String] {
            // A rehearsal may send a device two of them.
            let tokens = Dictionary(
                sent.filter { isMeant($0.outcome) }.map { ($0.tokenID, $0.clientID) },
                uniquingKeysWith: { first, _ in first })
            return tokens.map { visit.log.clients.label(ofClient: $1, token: $0) }.sorted()
        }
        let delivered = devices { if case .delivered = $0 { true } else { false } }
        let waiting = devices {
            switch $0 {
            // The one that waits stands for this one.
            case .waiting, .coalesced: true
            default: false
            }
        }
        var sentences: [String] = []
        if !delivered.isEmpty { sentences.append("Delivered to \(delivered.joined(separator: ", ")).") }
        if !waiting.isEmpty {
            let asks = waiting.count == 1 ? "it asks" : "they ask"
            sentences.append("Sent to \(Digits.count(waiting.count, "device")), and delivered as soon as \(asks).")
        }
        return NoticeView(
            sentences.isEmpty ? "Not delivered. The list Sent says why." : sentences.joined(separator: " "))
    }
}

// MARK: - Notices that were shown

/// A notice appears once: a reload of its page does not repeat it. Scripts take the notice out of the address, and this
/// does the same without them.
///
/// A cookie names the address whose notice was shown. Scripts end it at once. Without them the next change ends it, so
/// an action that is repeated has its notice again. A window that opens the address after another one has it, too: only
/// a reload names an age that it accepts.
enum ShownNotice {
    private static let cookieName = "skylight-notice"

    static func handle(_ request: Request, _ answer: (Request) async throws -> Response) async throws -> Response {
        let shown = shownMark(in: request)
        guard request.method == .get else {
            var response = try await answer(request)
            if shown != nil { response.headers.append(cookie("", for: request, "; Max-Age=0")) }
            return response
        }
        guard let target = request.head.path, request.hasQuery, request.queryFields["notice"] != nil else {
            return try await answer(request)
        }
        let mark = FNV1a(target.utf8).text
        if shown == mark, isReload(request) { return try await answer(withoutNotice(request, target)) }
        var response = try await answer(request)
        if response.status == .ok { response.headers.append(cookie(mark, for: request)) }
        return response
    }

    private static func withoutNotice(_ request: Request, _ target: String) -> Request {
        var head = request.head
        head.path = address(without: target)
        return Request(head: head, body: request.body)
    }

    /// The address of a page without its notice.
    static func address(without target: String) -> String {
        let parts = target.split(separator: "?", maxSplits: 1)
        let kept = parts.dropFirst().joined().split(separator: "&").filter {
            !$0.hasPrefix("notice=") && !$0.hasPrefix("\(NoticeView.undoField)=")
        }
        return (parts.first.map(String.init) ?? "") + (kept.isEmpty ? "" : "?\(kept.joined(separator: "&"))")
    }

    private static func isReload(_ request: Request) -> Bool {
        request.headers[.cacheControl].map { $0.contains("max-age=0") || $0.contains("no-cache") } ?? false
    }

    private static func shownMark(in request: Request) -> String? {
        let pairs = request.headers[values: .cookie].flatMap { $0.split(separator: ";") }.map(\.trimmingSpaces)
        return pairs.first { $0.hasPrefix("\(cookieName)=") }.map { String($0.dropFirst(cookieName.count + 1)) }
    }

    private static func cookie(_ value: String, for request: Request, _ more: String = "") -> HTTPField {
        HTTPField(
            name: .setCookie,
            value: "\(cookieName)=\(value); Path=/; SameSite=Strict\(request.isSecure ? "; Secure" : "")\(more)")
    }
}

// MARK: - Complaints

/// An API error that a page shows in place of an answer.
package struct PageError: ViewModel {
    let reason: String
    let code: String
    /// Advice, one sentence per element.
    let advice: [String]

    package init(_ error: RecordError, advice: [String] = []) {
        reason = error.reason
        code = error.code.rawValue
        self.advice = advice
    }
}

/// A form that the server refused: its page shows the reason above the form, which keeps what was typed.
package struct RefusedForm: ViewModel {
    let reason: String
    let code: String
    package let typed: String
    /// A link to what stands in the way.
    let link: Frame.Link?

    package init(_ error: RecordError, typed: String, link: Frame.Link? = nil) {
        reason = error.reason
        code = error.code.rawValue
        self.typed = typed
        self.link = link
    }
}
