internal import Accounts
package import Console
internal import Foundation
internal import RecordStore
internal import Records

/// The form that shares a record with all below it, or a whole zone, and that changes the share.
package enum ShareView {
    /// The maximum number of users to choose from. Others are typed.
    private static let userLimit = 24

    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let target = try await ShareTarget.load(visit)
        return try page(ShareForm(target), target, visit)
    }

    static func page(
        _ form: ShareForm, _ target: ShareTarget, complaint: RecordError? = nil, remark: String? = nil, _ visit: Visit
    ) throws -> ComponentPage {
        let place = visit.place
        let isOwner = place.address.scope == .private
        let share = target.share
        var complaint = complaint
        var operation: RecordOperation?
        do { operation = try form.operation(on: target, visit.people) } catch { complaint = complaint ?? error }
        let title =
            try share.map { "Shared: \($0.title)" }
            ?? "Share \(target.root.map(visit.titles.words) ?? target.zoneID.zoneName.string)"
        let subject =
            target.root == nil
            ? "zone" : "\(target.root?.recordType ?? "record") in zone \(visit.zoneName(target.zoneID))"
        var intro: [Inline] = ["\(target.guestsSee) They find it in their shared database."]
        if let share {
            let link = ShareLink(share.share, title: share.title, server: visit.server)
            intro.append("\(.copyable(link.text)) \(.link("Open", link.href)) \(.faint(Inline(link.right)))")
        }
        var links = [
            Frame.Link.button(
                "Back",
                target.root.map { place.link(toRecord: $0.recordID.recordName, in: target.zoneID) }
                    ?? place.link("zone"))
        ]
        if share != nil {
            let (end, path) = isOwner ? ("Stop sharing…", "share/stop") : ("Leave…", "share/leave")
            links.append(Frame.Link(text: end, href: place.link(path, target.parameters), style: "button danger"))
        }
        var hidden = target.parameters + [(name: "share", value: form.shareName.string)]
        if let tag = form.tag { hidden.append((name: "tag", value: tag)) }
        if share == nil { hidden.append((name: "make", value: "1")) }
        // Their order tells which inputs are theirs.
        for participant in share?.share.participants ?? [] {
            hidden.append((name: "participant", value: participant.participantID))
        }
        var parts: [any Component] = complaint.map { [Note(refusing: PageError($0))] } ?? []
        if let remark { parts.append(Note(remark: remark)) }
        parts.append(
            Form(
                .grid, place.link("share"),
                hidden: hidden.map { Frame.Hidden(name: $0.name, value: $0.value) },
                fields(form, of: share, isOwner: isOwner, visit),
                // The first one is what Enter does.
                buttons: [
                    Form.Button("Preview the request", act: "preview"),
                    Form.Button(share == nil ? "Share" : "Save", act: "save", style: "go"),
                ], links: links))
        if let operation { parts.append(CodePanel(savingShare: operation, in: target.zoneID, visit: visit)) }
        return ComponentPage(
            .fetch,
            PageHead(title, crumb: Inline(subject), intro), parts)
    }

    private static func fields(
        _ form: ShareForm, of share: ZoneShare?, isOwner: Bool, _ visit: Visit
    ) -> [FormField] {
        let permissions = SharePermission.allCases.map {
            Choice(
                $0.rawValue, $0 == .none ? "only invited users" : "everybody with the link \($0.words)",
                isSelected: $0 == form.link)
        }
        var fields = [
            FormField(.text, "title", "title", value: form.title, placeholder: "as the invitation shows it"),
            FormField(
                .name, "type", "type", value: form.type, placeholder: "com.example.list",
                hint:
                    "The uniform type identifier of the shared item tells the guest's app how to show it. Optional."),
            FormField(.choice(permissions), "link", "who can use the link"),
        ]
        if let share {
            let rows = share.share.participants.enumerated().map {
                row($1, number: $0 + 1, form, of: share, visit)
            }
            fields.append(FormField(.group([Listing(rows, style: "people")]), "participants", "participants"))
        }
        let others = FormField(
            .area(rows: 2), "addresses", "Other users to invite", value: form.addresses,
            placeholder: "others: an e-mail address or a handle on each line", isLabelled: false)
        let right = FormField(
            .choice(rights(form.right)), "right", "Right of those to invite", isLabelled: false)
        let known = Columns(style: "places", candidates(form, of: share, isOwner: isOwner, visit))
        return fields + [FormField(.group([known, others, right]), "invite", "invite")]
    }

    private static func rights(_ selected: ShareRight) -> [Choice] {
        ShareRight.allCases.map { Choice($0.rawValue, $0.words, isSelected: $0 == selected) }
    }

    private static func candidates(
        _ form: ShareForm, of share: ZoneShare?, isOwner: Bool, _ visit: Visit
    ) -> [FormField] {
        let present = share?.share.participants.filter { $0.status != .removed } ?? []
        let taken = Set(present.compactMap(\.user))
        return visit.people.recent(userLimit).filter { user in
            !user.isServerKey && !taken.contains(user.userRecordName) && (!isOwner || user != visit.people.actor)
        }.named.map { user, name in
            FormField(.tick(isOn: form.invited.contains(user.handle)), "invite", name, value: user.handle)
        }
    }

    /// A participant, with the inputs that change the part.
    private static func row(
        _ participant: ShareParticipant, number: Int, _ form: ShareForm, of share: ZoneShare, _ visit: Visit
    ) -> Inline {
        let person = SharePerson(participant, of: share, visit.accounts, in: visit.place.address)
        let asked = form.rows.first { $0.participantID == participant.participantID }
        // The link decides the rights of those who came by it.
        let isFixed = participant.role == .owner || participant.role == .publicUser
        let right: Inline =
            isFixed
            ? Inline(person.right)
            : .part(
                FormField(
                    .choice(rights(asked?.right ?? ShareRight(participant))), "right\(number)",
                    "Right of \(person.name)", isLabelled: false))
        let detail: Inline = person.detail.map { " \(.faint(Inline($0)))" } ?? ""
        let since: Inline = person.since.map { " \(.faint("since \($0)"))" } ?? ""
        let removal: Inline =
            participant.role == .owner
            ? ""
            : .part(
                FormField(.tick(isOn: asked?.isRemoved ?? false), "remove\(number)", "Remove \(person.name)"))
        return
            "\(strong: person.name)\(detail) \(right) \(Inline(person.status).styled("kind \(person.tone)"))\(since) \(removal)"
    }
}

// MARK: - Form

/// The inputs of the form that makes or changes a share.
struct ShareForm: Sendable {
    /// An input for a participant.
    struct Row: Sendable {
        let participantID: String
        let right: ShareRight
        let isRemoved: Bool
    }

    /// True if the share is yet to be made.
    let isNew: Bool
    let shareName: Name
    /// The change tag of the share; that of the root for a new share.
    let tag: String?
    let title: String
    /// The uniform type identifier of what is shared.
    let type: String
    let link: SharePermission
    let rows: [Row]
    /// The handles of the users to invite.
    let invited: Set<String>
    /// Other users to invite, one per line.
    let addresses: String
    /// The right of the users to invite.
    let right: ShareRight

    /// The state of the store.
    init(_ target: ShareTarget) {
        isNew = target.share == nil
        shareName =
            target.share?.record.recordID.recordName
            ?? (target.root == nil ? Share.zoneWideName : Name("Share-\(UUID().uuidString)"))
        tag = (target.share?.record ?? target.root)?.recordChangeTag
        title = target.share?.givenTitle ?? ""
        type = target.share?.givenType ?? ""
        link = target.share?.share.publicPermission ?? .none
        rows =
            target.share?.share.participants.map {
                Row(participantID: $0.participantID, right: ShareRight($0), isRemoved: false)
            } ?? []
        (invited, addresses, right) = ([], "", .readWrite)
    }

    /// A submitted form.
    init(_ fields: FormFields) {
        isNew = fields["make"] != nil
        shareName = Name(fields["share"] ?? "")
        tag = fields.text("tag")
        title = (fields["title"] ?? "").trimmingSpaces
        type = (fields["type"] ?? "").trimmingSpaces
        link = fields["link"].flatMap { SharePermission(rawValue: $0) } ?? .none
        rows = fields.all("participant").enumerated().map { index, id in
            Row(
                participantID: id, right: fields["right\(index + 1)"].flatMap { ShareRight(rawValue: $0) } ?? .readOnly,
                isRemoved: fields["remove\(index + 1)"] != nil)
        }
        invited = Set(fields.all("invite"))
        addresses = fields["addresses"] ?? ""
        right = fields["right"].flatMap { ShareRight(rawValue: $0) } ?? .readOnly
    }

    /// The save of the share.
    /// - Returns: `nil` if nothing is changed.
    /// - Throws: `RecordError` BAD_REQUEST for an address that names nobody.
    func operation(on target: ShareTarget, _ people: People) throws(RecordError) -> RecordOperation? {
        var operation = RecordOperation(
            target.share == nil ? .create : .update, recordName: shareName, recordType: Share.recordType)
        for (field, text, before) in [
            (Share.titleField, title, target.share?.givenTitle), (Share.typeField, type, target.share?.givenType),
        ] {
            if Name(text) != Name(before ?? "") {
                operation.fields[field] = text.isEmpty ? .cleared : FieldInput(.string(text))
            }
        }
        let new = try invitations(people)
        guard let share = target.share?.share else {
            let root = target.root.map { ShareInput.Root(recordName: $0.recordID.recordName, recordChangeTag: tag) }
            operation.share = ShareInput(root: root, publicPermission: link, participants: new)
            return operation
        }
        operation.recordChangeTag = tag
        if link != share.publicPermission { operation.share.publicPermission = link }
        let kept = share.participants.compactMap { participant -> ShareParticipant? in
            // A user who has left and is invited again gets a new entry.
            if participant.status == .removed, new.contains(where: { participant.isSamePerson(as: $0) }) { return nil }
            guard participant.role != .owner,
                let row = rows.first(where: { $0.participantID == participant.participantID })
            else { return participant }
            return row.isRemoved ? nil : participant.with(row.right)
        }
        if kept + new != share.participants { operation.share.participants = kept + new }
        return operation.fields.isEmpty && operation.share.isEmpty ? nil : operation
    }

    /// The participants to add.
    private func invitations(_ people: People) throws(RecordError) -> [ShareParticipant] {
        var found: [LookupInfo] = []
        for handle in invited.sorted() {
            guard let user = people.user(named: handle) else {
                throw RecordError(.badRequest, "There is no user '\(handle)'")
            }
            found.append(LookupInfo(userRecordName: user.userRecordName))
        }
        for line in addresses.formLines.map(\.trimmingSpaces) where !line.isEmpty {
            if line.contains("@") {
                found.append(LookupInfo(emailAddress: line))
            } else if let user = people.user(named: line) {
                found.append(LookupInfo(userRecordName: user.userRecordName))
            } else {
                throw RecordError(.badRequest, "There is no user '\(line)'; invite somebody else by an e-mail address")
            }
        }
        return found.map {
            ShareParticipant(
                participantID: UUID().uuidString, lookupInfo: $0, role: right.role, permission: right.permission)
        }
    }
}

extension ShareParticipant {
    /// The same with another right. A right that stays keeps its role and permission, whatever they are. The link
    /// decides what public users may do.
    fileprivate func with(_ right: ShareRight) -> ShareParticipant {
        if right == ShareRight(self) || role == .publicUser { return self }
        var participant = self
        (participant.role, participant.permission) = (right.role, right.permission)
        return participant
    }
}

/// The record or the zone of a share form, and the share that it has.
struct ShareTarget: Sendable {
    let zoneID: ZoneID
    /// The root; `nil` for a whole zone.
    let root: StoredRecord?
    /// `nil` if the share is yet to be made.
    let share: ZoneShare?
    /// The number of records below the root, or of all records of a zone; `nil` if that is not known.
    private let count: Int?
    /// The maximum number of a zone's records to look through for those below the root.
    private static let treeLimit = 20_000

    /// Finds the target that the fields of a request name: the root, or no name for the whole zone.
    static func load(_ visit: Visit) async throws -> ShareTarget {
        guard let zoneID = visit.place.zoneID else {
            throw RecordError(.badRequest, "The address needs the zone: zone=…")
        }
        guard let name = visit.fields.text("name").map({ Name($0) }) else {
            let shares = try await visit.measure {
                try await visit.database.require(.listShares).shares(in: zoneID, after: nil, limit: 1)
            }
            return ShareTarget(
                zoneID: zoneID, root: nil, share: shares.first { $0.rootName == nil },
                count: try await count(below: nil, in: zoneID, visit))
        }
        let root = try await RecordView.record(name, in: zoneID, visit: visit)
        let share = try await visit.measure { try await visit.database.share(showing: root) }
        return ShareTarget(
            zoneID: zoneID, root: root, share: share.flatMap { $0.rootName == name ? $0 : nil },
            count: try await count(below: name, in: zoneID, visit))
    }

    /// The records below a root without those of other shares, or all of the zone. Neither a container in iCloud nor
    /// another user's zone is read for them.
    private static func count(below root: Name?, in zoneID: ZoneID, _ visit: Visit) async throws -> Int? {
        if visit.connection != nil || visit.place.address.scope != .private { return nil }
        let (tree, shares) = try await visit.measure {
            let listing = try visit.database.require(.listShares)
            return (
                try await listing.tree(of: zoneID, limit: treeLimit),
                try await listing.shares(in: zoneID, after: nil, limit: treeLimit)
            )
        }
        guard tree.isComplete else { return nil }
        let records = tree.nodes.filter { $0.recordType != Share.recordType }
        guard let root else { return records.count }
        let children = Dictionary(grouping: records, by: \.parent)
        var seen = Set(shares.compactMap(\.rootName)).union([root])
        let others = seen.count
        var open = [root]
        while let name = open.popLast() {
            open += (children[name] ?? []).map(\.recordName).filter { seen.insert($0).inserted }
        }
        return seen.count - others
    }

    /// What the guests of its share see.
    var guestsSee: String {
        guard root != nil else {
            return
                "Guests see all records of the zone.\(count.map { " There \($0 == 1 ? "is" : "are") \(Digits.grouped($0)) now." } ?? "")"
        }
        let others = "They see nothing else of the zone."
        return switch count {
        case 0: "Guests see this record, and later those that get it as parent. None has it yet. \(others)"
        case let count?:
            "Guests see this record and \(Digits.count(count, "record")) below it: those that have it as parent, and so on. \(others)"
        case nil:
            "Guests see this record and all records below it: those that have it as parent, and so on. \(others)"
        }
    }

    /// The share that the target has.
    /// - Throws: `RecordError` NOT_FOUND if there is none.
    static func existing(_ visit: Visit) async throws -> ZoneShare {
        guard let share = try await load(visit).share else {
            throw RecordError(.notFound, "It is not shared any more, or not with this user")
        }
        return share
    }

    /// The parameters that name it in an address.
    var parameters: [(name: String, value: String)] { root.map { [("name", $0.recordID.recordName.string)] } ?? [] }
}

/// The right that an invitation gives: a permission, or all of them with the management of the share.
enum ShareRight: String, CaseIterable {
    case readOnly = "READ_ONLY"
    case readWrite = "READ_WRITE"
    case administrator = "ADMINISTRATOR"

    init(_ participant: ShareParticipant) {
        self =
            participant.role == .administrator
            ? .administrator : participant.permission == .readWrite ? .readWrite : .readOnly
    }

    var words: String {
        switch self {
        case .readOnly: "may read"
        case .readWrite: "may read and write"
        case .administrator: "may read and write, and manage the share"
        }
    }

    var role: ShareParticipant.Role { self == .administrator ? .administrator : .user }
    var permission: SharePermission { self == .readOnly ? .readOnly : .readWrite }
}

// MARK: - Actions

/// Makes, changes and ends shares in the name of the user of the place.
package enum ShareActions {
    private static let tooLate =
        "It was changed after you loaded the form, so nothing was saved. The form shows the current state."

    /// Handles the form: previews the requests, or saves the share.
    package static func submit(_ visit: Visit) async throws -> Answer {
        let target = try await ShareTarget.load(visit)
        let form = ShareForm(visit.fields)
        // Somebody has shared it, or has stopped sharing, since the form was loaded.
        guard form.isNew ? target.share == nil : form.shareName == target.share?.record.recordID.recordName else {
            return .page(try ShareView.page(ShareForm(target), target, remark: tooLate, visit))
        }
        guard visit.fields["do"] == "save" else { return .page(try ShareView.page(form, target, visit)) }
        do {
            guard let operation = try form.operation(on: target, visit.people) else {
                return .page(
                    try ShareView.page(form, target, remark: "Nothing was changed, so nothing was saved.", visit))
            }
            for result in try await modify([operation], in: target.zoneID, visit) { _ = try result.get() }
            let notice = target.share == nil ? Notice.shareMade : .shareChanged
            return .redirect(visit.place.link("share", target.parameters + [notice.parameter]))
        } catch let error as RecordError where error.code == .conflict || error.code == .exists {
            let now = try await ShareTarget.load(visit)
            return .page(try ShareView.page(ShareForm(now), now, complaint: error, remark: tooLate, visit))
        } catch let error as RecordError {
            return .page(try ShareView.page(form, target, complaint: error, visit))
        }
    }

    // MARK: Ends

    package static func confirmStop(_ visit: Visit) async throws -> ConfirmationView {
        confirmation(of: try await ShareTarget.existing(visit), visit)
    }

    /// Deletes the share, provided that it has not changed since the confirmation page.
    package static func stop(_ visit: Visit) async throws -> Answer {
        let share = try await ShareTarget.existing(visit)
        let operation = RecordOperation(
            .delete, recordName: share.record.recordID.recordName, recordChangeTag: visit.fields["tag"])
        do {
            for result in try await modify([operation], in: share.zoneID, visit) { _ = try result.get() }
        } catch let error as RecordError where error.code == .conflict {
            return .page(confirmation(of: try await ShareTarget.existing(visit), isChanged: true, visit))
        }
        guard let root = share.rootName else {
            return .redirect(visit.place.link("zone", [Notice.shareStopped.parameter]))
        }
        return .redirect(
            visit.place.link("record", [("name", root.string), Notice.shareStopped.parameter]) + "#shared")
    }

    private static func confirmation(of share: ZoneShare, isChanged: Bool = false, _ visit: Visit) -> ConfirmationView {
        let names = share.share.guests.map { visit.people.name(of: $0) }
        let invited = share.share.participants.count { $0.status == .invited }
        var lines =
            isChanged
            ? ["Somebody changed the share in the meantime, so nothing was done. This is its current state."] : []
        lines.append(
            names.isEmpty
                ? "Nobody has accepted it, so nobody loses anything."
                : "\(names.joined(separator: ", ")) \(names.count == 1 ? "loses" : "lose") the records: they are deleted in the shared database and on the devices. "
                    + "They stay in \(visit.people.actor.displayName)’s private database.")
        if invited > 0 { lines.append("\(Digits.count(invited, "invitation")) can’t be accepted any more.") }
        lines.append(
            share.rootName == nil
                ? "The link stops working."
                : "The link stops working. It is the same again if the record is shared again.")
        return ConfirmationView(
            on: .sharing, title: "Stop sharing “\(share.title)”?", lines: lines, action: visit.place.link("share/stop"),
            fields: hidden(share) + [Frame.Hidden(name: "tag", value: share.record.recordChangeTag)],
            button: "Stop sharing",
            cancel: visit.place.link("share", parameters(share)))
    }

    package static func confirmLeaving(_ visit: Visit) async throws -> ConfirmationView {
        let share = try await ShareTarget.existing(visit)
        let owner = share.share.owner?.userRecordName.map { visit.people.name(of: $0) } ?? "the owner"
        return ConfirmationView(
            on: .sharing, title: "Leave “\(share.title)”?",
            lines: [
                "\(visit.people.actor.displayName) loses the records, and \(owner) keeps them.",
                share.share.publicPermission == .none
                    ? "To come back, \(owner) has to invite \(visit.people.actor.displayName) again."
                    : "To come back, open the link again.",
            ], action: visit.place.link("share/leave"), fields: hidden(share), button: "Leave",
            cancel: visit.place.link("share", parameters(share)))
    }

    package static func leave(_ visit: Visit) async throws -> String {
        let share = try await ShareTarget.existing(visit)
        let operation = RecordOperation(.forceDelete, recordName: share.record.recordID.recordName)
        for result in try await modify([operation], in: share.zoneID, visit) { _ = try result.get() }
        // The zone may be gone for this user.
        return visit.place.with { $0.zone = .unspecified }.link("zones", [Notice.shareLeft.parameter])
    }

    // MARK: Parts

    private static func modify(_ operations: [RecordOperation], in zoneID: ZoneID, _ visit: Visit) async throws
        -> [Result<ModifyOutcome, RecordError>]
    {
        try await visit.measure { try await visit.database.modify(ModifyRequest(operations, zoneID: zoneID)) }
    }

    private static func parameters(_ share: ZoneShare) -> [(name: String, value: String)] {
        share.rootName.map { [("name", $0.string)] } ?? []
    }

    private static func hidden(_ share: ZoneShare) -> [Frame.Hidden] {
        parameters(share).map { Frame.Hidden(name: $0.name, value: $0.value) }
    }
}
