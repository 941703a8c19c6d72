import Accounts
import Console
import RecordStore
import Records
import RequestLog
import Testing

@testable import TrafficPages

/// The reasons in sharing why a user does not get a record, from the facts to the page.
@Suite struct SharingReasonTests {
    private static let ada: Name = "_ada"
    private static let request = Delivery.Source(
        requestID: "r", started: Timestamp(milliseconds: 0), operation: "records/accept")

    private static func chain(_ names: Name..., end: SharingFacts.Chain.End) -> SharingFacts.Chain {
        SharingFacts.Chain(names: names, end: end)
    }

    private static func misdirected(_ scope: DatabaseScope, _ owner: Name?) -> SharingFacts.MisdirectedRequest {
        SharingFacts.MisdirectedRequest(scope: scope, owner: owner, source: request)
    }

    /// The facts for a user with a part in a share.
    private static func guest(
        _ status: ShareParticipant.Status?, _ permission: SharePermission = .readWrite,
        by role: ShareParticipant.Role = .user, isSeen: Bool = false,
        link: SharePermission = .none, wasGuest: Bool = false, refusedLink: Delivery.Source? = nil,
        misdirected: SharingFacts.MisdirectedRequest? = nil,
        refusedWrite: Delivery.Source? = nil
    ) -> SharingFacts {
        let participant = status.map {
            ShareParticipant(participantID: "p", userRecordName: ada, role: role, status: $0, permission: permission)
        }
        return SharingFacts(
            isSeen: isSeen,
            share: Share(
                rootName: "list", shortGUID: "g", publicPermission: link, participants: participant.map { [$0] } ?? []),
            participant: participant, wasGuest: wasGuest, refusedLink: refusedLink, misdirected: misdirected,
            refusedWrite: refusedWrite)
    }

    private static let broken = chain("milk", end: .missing("list"))
    private static let outside = chain("milk", "list", "kitchen", end: .noParent)
    private static let circle = chain("milk", "list", end: .circle)

    private static let table: [(SharingFacts, SharingReason?)] = [
        (SharingFacts(isSeen: false), .notShared),
        // Out of every share.
        (SharingFacts(isSeen: false, chain: chain("milk", end: .noParent)), .noParent),
        (SharingFacts(isSeen: false, chain: outside), .parentOutside(outside)),
        (SharingFacts(isSeen: false, chain: broken), .parentMissing("list", broken)),
        (SharingFacts(isSeen: false, chain: circle), .parentsInACircle(circle)),
        (SharingFacts(isSeen: false, chain: chain("milk", end: .tooLong)), .tooManyParents),
        (SharingFacts(isSeen: false, chain: chain("milk", "list", end: .shared)), .notMovedYet),
        // A request elsewhere does not matter if the record is in no share.
        (SharingFacts(isSeen: false, chain: outside, misdirected: misdirected(.private, nil)), .parentOutside(outside)),
        // The part of the user.
        (guest(.invited), .notAccepted),
        (guest(.removed), .left),
        (guest(.removed, wasGuest: true), .left),
        (guest(nil), .notInvited),
        (guest(nil, wasGuest: true), .removed),
        (guest(nil, refusedLink: request), .linkClosed(request)),
        (guest(nil, link: .readOnly), .notJoined),
        // The link has been opened since.
        (guest(nil, link: .readWrite, refusedLink: request), .notJoined),
        // An entry without a right has that of the link.
        (guest(.invited, .none), .notInvited),
        (guest(.accepted, .none, wasGuest: true), .removed),
        (guest(.invited, .none, link: .readOnly), .notAccepted),
        (guest(.accepted, .none, isSeen: true, link: .readOnly, refusedWrite: request), .readOnly(request)),
        // The requests of the client.
        (guest(.accepted, misdirected: misdirected(.private, nil)), .otherDatabase(misdirected(.private, nil))),
        (
            guest(.accepted, isSeen: true, misdirected: misdirected(.public, "_ada")),
            .otherDatabase(misdirected(.public, "_ada"))
        ),
        (
            guest(.accepted, isSeen: true, misdirected: misdirected(.shared, nil)),
            .otherOwner(misdirected(.shared, nil))
        ),
        (
            guest(.accepted, isSeen: true, misdirected: misdirected(.shared, "_grace")),
            .otherOwner(misdirected(.shared, "_grace"))
        ),
        (guest(.invited, misdirected: misdirected(.private, nil)), .notAccepted),
        (guest(.accepted), .notMovedYet),
        (guest(.accepted, .readOnly, isSeen: true, refusedWrite: request), .readOnly(request)),
        (
            guest(.accepted, .readWrite, by: .publicUser, isSeen: true, link: .readOnly, refusedWrite: request),
            .readOnly(request)
        ),
        // Sharing is not the reason.
        (guest(.accepted, .readOnly, isSeen: true), nil),
        (guest(.accepted, .readWrite, isSeen: true, refusedWrite: request), nil),
        (guest(.accepted, .readOnly, by: .publicUser, isSeen: true, link: .readWrite, refusedWrite: request), nil),
    ]

    @Test func theFactsDecide() {
        for (facts, reason) in Self.table { #expect(SharingReason(facts) == reason, "\(facts)") }
    }

    /// Each reason has a sentence and a remedy of its own, and all but one a link.
    @Test func everyReasonHasItsWords() throws {
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let subject = SharingReason.Subject(
            recordName: "milk", zoneID: ZoneID(zoneName: "Notes"), user: "Ada", owner: "Developer",
            ownerRecordName: "_dev", shareName: "share",
            place: Place(
                address: DatabaseAddress(container: container, environment: .development, scope: .private), user: nil,
                zone: .unspecified))
        let reasons = Set(Self.table.compactMap(\.1))
        let words = reasons.map { $0.explanation(subject) }
        #expect(Set(words.map(\.text)).count == reasons.count)
        for (reason, words) in zip(reasons, words) {
            #expect(words.advice != nil && (words.next == nil) == (reason == .notMovedYet), "\(reason)")
            #expect(
                words.next.map { $0.href.hasPrefix("/c/iCloud.com.example.App/development/private/record") } ?? true)
        }
        #expect(
            SharingReason.parentMissing("list", Self.broken).explanation(subject).text
                == "The chain of parents breaks: milk, and then list, which does not exist.")
        #expect(
            SharingReason.otherOwner(Self.misdirected(.shared, nil)).explanation(subject).advice?.contains(
                "ownerRecordName _dev") == true)
    }
}
