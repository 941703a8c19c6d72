internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The form that shares a record with all below it, or a whole zone, and that changes the share.
struct ShareView: Page {
    static let template = "share"
    static let tab = Tab.fetch
    /// The maximum number of users to choose from. Others are typed.
    private static let userLimit = 24

    /// A participant, with the inputs that change the part.
    struct Row: ViewModel {
        let number: String
        let participantID: String
        let person: SharePerson
        /// Empty for the owner, and for those who came by the link, which decides their rights.
        let rights: [Choice]
        let canRemove: Bool
        let isRemoved: Bool
    }

    struct Candidate: ViewModel {
        let handle: String
        let name: String
        let isInvited: Bool
    }

    let title: String
    let notice: String?
    let complaint: Complaint?
    let remark: String?
    /// `record in zone X` or `zone`
    let subject: String
    let isNew: Bool
    let isZone: Bool
    let action: String
    let fields: [Frame.Hidden]
    let shareTitle: String
    let shareType: String
    let link: ShareLink?
    let permissions: [Choice]
    let rows: [Row]
    let candidates: [Candidate]
    let addresses: String
    let rights: [Choice]
    /// The requests that the form makes; `nil` if it changes nothing.
    let code: CodePanel?
    let stop: String?
    let leave: String?
    let back: String
    let milliseconds: String

    static func load(_ visit: Visit) async throws -> ShareView {
        let target = try await ShareTarget.load(visit)
        return try ShareView(ShareForm(target), target, visit)
    }

    init(_ form: ShareForm, _ target: ShareTarget, complaint: Complaint? = nil, remark: String? = nil, _ visit: Visit) throws {
        let place = visit.place
        let isOwner = place.address.scope == .private
        let share = target.share
        var complaint = complaint
        var operation: RecordOperation?
        do { operation = try form.operation(on: target, visit.people) } catch { complaint = complaint ?? Complaint(error) }
        code = operation.map { CodePanel(savingShare: $0, in: target.zoneID, visit: visit) }
        title = try share.map { "Shared: \($0.title)" } ?? "Share \(target.root.map(visit.titles.words) ?? target.zoneID.zoneName.string)"
        notice = Notice.text(visit.fields["notice"])
        self.complaint = complaint
        self.remark = remark
        subject = target.root == nil ? "zone" : "\(target.root?.recordType ?? "record") in zone \(visit.zoneName(target.zoneID))"
        isNew = share == nil
        isZone = target.root == nil
        action = place.link("share")
        let kept = [("share", form.shareName.string)] + (form.tag.map { [("tag", $0)] } ?? []) + (share == nil ? [("make", "1")] : [])
        fields = (target.parameters + kept).map { Frame.Hidden(name: $0.name, value: $0.value) }
        shareTitle = form.title
        shareType = form.type
        link = share.map { ShareLink($0.share, title: $0.title, server: visit.server) }
        permissions = SharePermission.allCases.map {
            Choice($0.rawValue, $0 == .none ? "only invited users" : "everybody with the link \($0.words)", isSelected: $0 == form.link)
        }
        rows = share.map { share in
            share.share.participants.enumerated().map { index, participant in Row(participant, number: index + 1, form, of: share, visit) }
        } ?? []
        let present = share?.share.participants.filter { $0.status != .removed } ?? []
        let taken = Set(present.compactMap(\.user))
        candidates = visit.people.recent(Self.userLimit).filter { user in
            !user.isServerKey && !taken.contains(user.userRecordName) && (!isOwner || user != visit.people.actor)
        }.map { Candidate(handle: $0.handle, name: $0.displayName, isInvited: form.invited.contains($0.handle)) }
        addresses = form.addresses
        rights = ShareRight.allCases.map { Choice($0.rawValue, $0.words, isSelected: $0 == form.right) }
        stop = share != nil && isOwner ? place.link("share/stop", target.parameters) : nil
        leave = share != nil && !isOwner ? place.link("share/leave", target.parameters) : nil
        back = target.root.map { place.link(toRecord: $0.recordID.recordName, in: target.zoneID) } ?? place.link("zone")
        milliseconds = visit.stopwatch.elapsed.millisecondsText
    }
}

extension ShareView.Row {
    fileprivate init(_ participant: ShareParticipant, number: Int, _ form: ShareForm, of share: ZoneShare, _ visit: Visit) {
        let row = form.rows.first { $0.participantID == participant.participantID }
        let right = row?.right ?? ShareRight(participant)
        self.number = String(number)
        participantID = participant.participantID
        person = SharePerson(participant, of: share, visit.accounts, in: visit.place.address)
        let isFixed = participant.role == .owner || participant.role == .publicUser
        rights = isFixed ? [] : ShareRight.allCases.map { Choice($0.rawValue, $0.words, isSelected: $0 == right) }
        canRemove = participant.role != .owner
        isRemoved = row?.isRemoved ?? false
    }
}
