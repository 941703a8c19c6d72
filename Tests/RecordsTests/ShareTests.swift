import Records
import Testing

@Suite struct ShareTests {
    @Test(arguments: [
        (
            #"{"type":"PRIVATE_USER","acceptanceStatus":"PENDING","participantID":"p"}"#,
            ShareParticipant(participantID: "p")
        ),
        (
            #"{"participantId":"p","type":"USER","permission":"READ_WRITE","acceptanceStatus":"ACCEPTED","customRole":"","userIdentity":{"userRecordName":"_g","lookupInfo":{"emailAddress":"g@x.org"}}}"#,
            ShareParticipant(
                participantID: "p", userRecordName: "_g", lookupInfo: LookupInfo(emailAddress: "g@x.org"),
                status: .accepted, permission: .readWrite)
        ),
        (
            #"{"type":"OWNER","userIdentity":{"lookupInfo":{}},"permission":"NONE"}"#,
            ShareParticipant(participantID: "", role: .owner, permission: .none)
        ),
        (
            #"{"userIdentity":{"lookupInfo":{"phoneNumber":"+49 30 1"}}}"#,
            ShareParticipant(participantID: "", lookupInfo: LookupInfo(phoneNumber: "+49 30 1"))
        ),
    ])
    func parses(text: String, participant: ShareParticipant) throws {
        #expect(try ShareParticipant(JSONReader.value(of: Array(text.utf8))) == participant)
    }

    @Test(arguments: [
        #"[]"#, #"{"type":"BOSS"}"#, #"{"type":1}"#, #"{"acceptanceStatus":"SOON"}"#, #"{"permission":"ALL"}"#,
        #"{"permission":true}"#,
    ])
    func refuses(text: String) throws {
        let json = try JSONReader.value(of: Array(text.utf8))
        let error = #expect(throws: RecordError.self) { try ShareParticipant(json) }
        #expect(error?.code == .badRequest)
    }

    private static let owner = ShareParticipant(
        participantID: "o", userRecordName: "_o", role: .owner, status: .accepted, permission: .readWrite,
        accepted: Timestamp(milliseconds: 1))
    private static let guest = ShareParticipant(
        participantID: "g", userRecordName: "_g", lookupInfo: LookupInfo(emailAddress: "G@x.org"), status: .accepted,
        permission: .readOnly,
        accepted: Timestamp(milliseconds: 2))
    private static let invited = ShareParticipant(
        participantID: "i", lookupInfo: LookupInfo(userRecordName: "_i"), permission: .readWrite)
    private static let passerBy = ShareParticipant(
        participantID: "p", userRecordName: "_p", role: .publicUser, status: .accepted)
    private static let left = ShareParticipant(participantID: "l", userRecordName: "_l", status: .removed)

    @Test func rights() {
        var share = Share(
            rootName: "r", shortGUID: "s", publicPermission: .readWrite,
            participants: [Self.owner, Self.guest, Self.invited, Self.passerBy, Self.left])
        #expect(
            ["_o", "_g", "_i", "_p", "_l", "_x"].map { share.permission(of: $0) } == [
                .readWrite, .readOnly, .none, .readWrite, .none, .none,
            ])
        #expect(share.guests == ["_g", "_p"])
        share.publicPermission = .readOnly
        #expect(share.permission(of: "_p") == .readOnly)
        // Without a right of the own, that of the link counts.
        share.participants[1].permission = .none
        share.participants[2].permission = .none
        #expect(share.permission(of: "_g") == .readOnly && share.guests == ["_g", "_p"])
        #expect(share.invitation(of: "_i", LookupInfo(userRecordName: "_i")) == 2)
        share.publicPermission = .none
        #expect(share.permission(of: "_g") == .none && share.guests == [])
        #expect(share.invitation(of: "_i", LookupInfo(userRecordName: "_i")) == nil)
    }

    @Test func theBestInvitationCounts() {
        func entry(_ id: String, _ permission: SharePermission, _ role: ShareParticipant.Role = .user)
            -> ShareParticipant
        {
            ShareParticipant(
                participantID: id, lookupInfo: LookupInfo(userRecordName: "_i"), role: role, permission: permission)
        }
        let invitations = [
            entry("1", .readOnly), entry("2", .readWrite), entry("3", .readWrite),
            entry("4", .readWrite, .administrator),
        ]
        var share = Share(
            rootName: "r", shortGUID: "s", publicPermission: .readOnly,
            participants: [Self.owner] + invitations.prefix(3))
        #expect(share.invitation(of: "_i", LookupInfo(userRecordName: "_i")) == 2)
        share.participants += invitations.suffix(1)
        #expect(share.invitation(of: "_i", LookupInfo(userRecordName: "_i")) == 4)
        // For one who takes part, only what gives more.
        share.participants[4] = ShareParticipant(
            participantID: "5", userRecordName: "_i", status: .accepted, permission: .readWrite)
        #expect(share.invitation(of: "_i", LookupInfo(userRecordName: "_i")) == nil)
        (share.participants[4].role, share.participants[4].permission) = (.publicUser, .readOnly)
        #expect(share.invitation(of: "_i", LookupInfo(userRecordName: "_i")) == 2)
        share.publicPermission = .readWrite
        #expect(
            share.invitation(of: "_i", LookupInfo(userRecordName: "_i")) == 2,
            "an entry of her own gives more than the same right by the link")
    }

    @Test(
        arguments: [
            (LookupInfo(userRecordName: "_g"), nil, true), (LookupInfo(emailAddress: "g@X.org"), nil, true),
            (LookupInfo(), "_g", true),
            // An address that somebody else has now.
            (LookupInfo(emailAddress: "g@x.org"), "_h", false), (LookupInfo(userRecordName: "_h"), nil, false),
            (LookupInfo(), nil, false),
        ] as [(LookupInfo, Name?, Bool)])
    func samePerson(invited: LookupInfo, user: Name?, isSame: Bool) {
        let other = ShareParticipant(participantID: "x", userRecordName: user, lookupInfo: invited)
        #expect(Self.guest.isSamePerson(as: other) == isSame && other.isSamePerson(as: Self.guest) == isSame)
    }

    @Test(arguments: [
        (LookupInfo(emailAddress: "g@X.org"), true), (LookupInfo(emailAddress: "h@x.org"), false),
        (LookupInfo(phoneNumber: "0049 (30) 1"), true),
        (LookupInfo(phoneNumber: "()"), false), (LookupInfo(userRecordName: "_g"), true), (LookupInfo(), false),
    ])
    func addresses(invited: LookupInfo, isMatch: Bool) {
        #expect(
            invited.matches(LookupInfo(emailAddress: "G@x.org", phoneNumber: "0049301", userRecordName: "_g"))
                == isMatch)
    }

    /// The store's text gives back everything, and answers show what the viewer may know.
    @Test func texts() throws {
        let share = Share(
            rootName: "r", shortGUID: "s", participants: [Self.owner, Self.guest, Self.invited, Self.left])
        for sharing in [
            RecordSharing(share: share, hierarchy: 4), RecordSharing(shortGUID: "s", shareName: "x"),
            RecordSharing(shortGUID: "s", hierarchy: 4),
            RecordSharing(shareName: "x"),
        ] {
            let read = try RecordSharing.stored(try #require(sharing.storedText), hierarchy: sharing.hierarchy)
            #expect(
                read.share == sharing.share && read.shareName == sharing.shareName
                    && read.hierarchy == sharing.hierarchy)
            #expect(read.shortGUID == sharing.share?.shortGUID ?? sharing.shortGUID)
        }
        #expect(RecordSharing(hierarchy: 4).storedText == nil)
        for damaged in [
            #"{"shortGUID":"s","participants":[{}]}"#, #"{"participants":[1],"publicPermission":"NONE"}"#, "[]", "{}",
            "x",
        ] {
            #expect(throws: RecordError.self, "\(damaged)") {
                try RecordSharing.stored(Array(damaged.utf8), hierarchy: 4)
            }
        }
        let (zoneID, signature) = (
            ZoneID(zoneName: "z"), Signature(timestamp: Timestamp(milliseconds: 1), userRecordName: "_o", deviceID: "d")
        )
        let record = StoredRecord(
            recordID: RecordID(recordName: "x", zoneID: zoneID), recordType: Share.recordType, recordChangeTag: "1",
            created: signature, modified: signature,
            fields: .empty, sharing: RecordSharing(share: share))
        var writer = JSONWriter()
        try writer.value(record, for: "_g")
        guard case .object(let object) = try JSONReader.value(of: writer.bytes),
            case .array(let participants)? = object["participants"]
        else {
            Issue.record("A share has participants")
            return
        }
        #expect(
            participants.count == 4 && object["owner"] == participants[0]
                && object["currentUserParticipant"] == participants[1])
        #expect(object["publicPermission"] == "NONE" && object["shortGUID"] == "s" && object["rootRecordName"] == "r")
        // An answer says enough to be read back.
        #expect(try RecordSharing(object) == RecordSharing(shortGUID: "s", share: share))
    }
}
