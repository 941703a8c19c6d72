internal import Accounts
internal import Console
internal import Foundation
internal import JSON
internal import RecordStore
internal import Records
internal import Text

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
        shareName = target.share?.record.recordID.recordName ?? (target.root == nil ? Share.zoneWideName : Name("Share-\(UUID().uuidString)"))
        tag = (target.share?.record ?? target.root)?.recordChangeTag
        title = target.share?.givenTitle ?? ""
        type = target.share?.givenType ?? ""
        link = target.share?.share.publicPermission ?? .none
        rows = target.share?.share.participants.map { Row(participantID: $0.participantID, right: ShareRight($0), isRemoved: false) } ?? []
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
        var operation = RecordOperation(target.share == nil ? .create : .update, recordName: shareName, recordType: Share.recordType)
        for (field, text, before) in [(Share.titleField, title, target.share?.givenTitle), (Share.typeField, type, target.share?.givenType)] {
            if Name(text) != Name(before ?? "") { operation.fields[field] = text.isEmpty ? .cleared : FieldInput(.string(text)) }
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
            guard participant.role != .owner, let row = rows.first(where: { $0.participantID == participant.participantID }) else { return participant }
            return row.isRemoved ? nil : participant.with(row.right)
        }
        if kept + new != share.participants { operation.share.participants = kept + new }
        return operation.fields.isEmpty && operation.share.isEmpty ? nil : operation
    }

    /// The participants to add.
    private func invitations(_ people: People) throws(RecordError) -> [ShareParticipant] {
        var found: [LookupInfo] = []
        for handle in invited.sorted() {
            guard let user = people.user(named: handle) else { throw RecordError(.badRequest, "There is no user '\(handle)'") }
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
        return found.map { ShareParticipant(participantID: UUID().uuidString, lookupInfo: $0, role: right.role, permission: right.permission) }
    }
}

extension ShareParticipant {
    /// The same with another right. A right that stays keeps its role and permission, whatever they are. The link decides what public users may do.
    fileprivate func with(_ right: ShareRight) -> ShareParticipant {
        if right == ShareRight(self) || role == .publicUser { return self }
        var participant = self
        (participant.role, participant.permission) = (right.role, right.permission)
        return participant
    }
}
