internal import RecordStore
internal import Records
internal import Testing

/// The entries of participants, and their rights. For engines with ``RecordStore/Capability/shareRecords``.
enum ParticipantScenarios {
    private static let hierarchy: [Name] = ["list", "milk", "brand", "bread", "share"]
    private static let denied = ServerErrorCode.accessDenied

    /// For engines that are told the addresses of callers.
    static let here: [Scenario] = [
        .sharing("a user who is invited by two addresses takes part once, and leaves for good") { stage in
            let byMail = ShareParticipant(
                participantID: "mail", lookupInfo: LookupInfo(emailAddress: SharingStage.graceAddress),
                permission: .readWrite)
            let share = try await stage.share(with: [byMail, SharingStage.invitation(grace, .readOnly)])
            #expect(share.sharing?.share?.participants.count == 3)
            try await stage.accept(share, as: grace, emailAddress: SharingStage.graceAddress)
            let top = try #require(try await stage.current("share").sharing?.share)
            #expect(
                top.participants.map(\.participantID).dropFirst() == ["mail"] && top.guests == [grace.userRecordName])
            #expect(try await stage.visible(to: grace, of: hierarchy) == hierarchy)
            try await stage.shared(grace).delete("share", in: SharingStage.seen)
            #expect(
                await refusal { _ = try await stage.accept(share, as: grace, emailAddress: SharingStage.graceAddress) }?
                    .code == denied)
            #expect(try await stage.visible(to: grace, of: hierarchy) == [])
        },
        .init("of several invitations, the one that gives most counts, also for a user who takes part") { engine, _ in
            let stage = try await SharingStage(on: engine)
            func byMail(_ permission: SharePermission) -> ShareParticipant {
                ShareParticipant(
                    participantID: "mail", lookupInfo: LookupInfo(emailAddress: SharingStage.graceAddress),
                    permission: permission)
            }
            let both = try await stage.share(with: [byMail(.readOnly), SharingStage.invitation(grace, .readWrite)])
            try await stage.accept(both, as: grace, emailAddress: SharingStage.graceAddress)
            try await stage.shared(grace).save("milk", in: SharingStage.seen)
            try await stage.owner.delete("share", in: notes)
            // She came by the link, and is invited by an address afterwards.
            let open = try await stage.share(publicPermission: .readOnly)
            try await stage.accept(open, as: grace, emailAddress: SharingStage.graceAddress)
            let joined = try await stage.current("share")
            let entries = try #require(joined.sharing?.share?.participants) + [byMail(.readWrite)]
            let invited = try await stage.save("share", tag: joined.recordChangeTag, ShareInput(participants: entries))
            let addresses = LookupInfo(emailAddress: SharingStage.graceAddress, userRecordName: grace.userRecordName)
            let found = try await engine.full(.public, as: grace).require(.shareRecords).resolve(
                [invited.sharing?.shortGUID ?? ""], by: addresses)[0].get()
            #expect(found.participant?.status == .invited && found.participant?.permission == .readWrite)
            #expect(await refusal { try await stage.shared(grace).save("milk", in: SharingStage.seen) }?.code == denied)
            #expect(
                try await stage.accept(invited, as: grace, emailAddress: SharingStage.graceAddress).participant?
                    .participantID == "mail")
            let top = try #require(try await stage.current("share").sharing?.share)
            #expect(top.participants.map(\.role) == [.owner, .user] && top.guests == [grace.userRecordName])
            try await stage.shared(grace).save("milk", in: SharingStage.seen)
            // Nothing is left to accept.
            let tag = try await stage.current("share").recordChangeTag
            try await stage.accept(invited, as: grace, emailAddress: SharingStage.graceAddress)
            #expect(try await stage.current("share").recordChangeTag == tag)
        },
    ]

    static let all: [Scenario] = [
        .init("an entry without a right makes no guest, unless the link gives one") { engine, _ in
            let stage = try await SharingStage(on: engine)
            let share = try await stage.share(with: [SharingStage.invitation(grace, SharePermission.none)])
            func resolve() async -> RecordError? {
                await refusal {
                    let link = share.sharing?.shortGUID ?? ""
                    _ = try await engine.full(.public, as: grace).require(.shareRecords).resolve(
                        [link], by: LookupInfo(userRecordName: grace.userRecordName))[0].get()
                }
            }
            #expect(await refusal { _ = try await stage.accept(share, as: grace) }?.code == denied)
            #expect(await resolve()?.code == denied)
            let open = try await stage.save(
                "share", tag: share.recordChangeTag, ShareInput(publicPermission: .readOnly))
            #expect(await resolve() == nil)
            #expect(try await stage.accept(open, as: grace).participant?.role == .user)
            #expect(try await stage.visible(to: grace, of: hierarchy) == hierarchy)
            #expect(await refusal { try await stage.shared(grace).save("milk", in: SharingStage.seen) }?.code == denied)
            // Closed, she keeps her entry, and sees nothing.
            let current = try await stage.current("share")
            let closed = try await stage.save(
                "share", tag: current.recordChangeTag, ShareInput(publicPermission: SharePermission.none))
            #expect(
                closed.sharing?.share?.participants.map(\.status) == [.accepted, .accepted]
                    && closed.sharing?.share?.guests == [])
            #expect(try await stage.visible(to: grace, of: hierarchy) == [])
            #expect(await refusal { _ = try await stage.accept(share, as: grace) }?.code == denied)
            // With a right she is a guest again, without another acceptance.
            var participants = try #require(closed.sharing?.share?.participants)
            participants[1].permission = .readWrite
            let given = try await stage.save(
                "share", tag: closed.recordChangeTag, ShareInput(participants: participants))
            #expect(try await stage.visible(to: grace, of: hierarchy) == hierarchy)
            try await stage.shared(grace).save("milk", in: SharingStage.seen)
            participants[1].permission = .none
            try await stage.save("share", tag: given.recordChangeTag, ShareInput(participants: participants))
            #expect(try await stage.visible(to: grace, of: hierarchy) == [])
            // The same for a whole zone.
            try await stage.owner.delete("share", in: notes)
            let whole = try await stage.save(
                Share.zoneWideName, .create, tag: nil, ShareInput(participants: [SharingStage.invitation(grace)]))
            try await stage.accept(whole, as: grace)
            #expect(try await stage.owner.participants(of: notes).map(\.userRecordName) == [grace.userRecordName])
            let joined = try await stage.current(Share.zoneWideName)
            participants = try #require(joined.sharing?.share?.participants)
            participants[1].permission = .none
            try await stage.save(
                Share.zoneWideName, tag: joined.recordChangeTag, ShareInput(participants: participants))
            #expect(try await stage.owner.participants(of: notes).isEmpty)
            #expect(try await stage.shared(grace).zones().isEmpty)
        },
        .sharing("a user takes part once, whatever the entries say, and leaves completely") { stage in
            let share = try await stage.share(with: [SharingStage.invitation(grace, .readOnly)])
            try await stage.accept(share, as: grace)
            let all = try #require(try await stage.current("share").sharing?.share?.participants)
            let again = ShareParticipant(
                participantID: "again", userRecordName: grace.userRecordName,
                lookupInfo: LookupInfo(emailAddress: SharingStage.graceAddress), permission: .readWrite)
            for entries in [all + [again], [all[0], again, all[1]]] {
                let tag = try await stage.current("share").recordChangeTag
                let top = try #require(
                    try await stage.save("share", tag: tag, ShareInput(participants: entries)).sharing?.share)
                #expect(top.participants.map(\.userRecordName) == [ada.userRecordName, grace.userRecordName])
                #expect(
                    top.participants.map(\.status) == [.accepted, .accepted]
                        && top.permission(of: grace.userRecordName) == entries[2].permission)
                #expect(try await stage.visible(to: grace, of: hierarchy) == hierarchy)
            }
            try await stage.shared(grace).delete("share", in: SharingStage.seen)
            let left = try await stage.current("share")
            #expect(left.sharing?.share?.participants.map(\.status) == [.accepted, .removed])
            #expect(try await stage.visible(to: grace, of: hierarchy) == [])
            #expect(await refusal { _ = try await stage.accept(share, as: grace) }?.code == denied)
            // A new invitation takes the place of the old one.
            let entries = try #require(left.sharing?.share?.participants) + [SharingStage.invitation(grace)]
            let invited = try await stage.save("share", tag: left.recordChangeTag, ShareInput(participants: entries))
            #expect(invited.sharing?.share?.participants.map(\.status) == [.accepted, .invited])
            try await stage.accept(invited, as: grace)
            #expect(try await stage.visible(to: grace, of: hierarchy) == hierarchy)
        },
        .sharing("a participant who came by the link gets an entry that stays") { stage in
            let share = try await stage.share(publicPermission: .readOnly)
            try await stage.accept(share, as: grace)
            let open = try await stage.current("share")
            let kept = ShareParticipant(
                participantID: "kept", userRecordName: grace.userRecordName, permission: .readWrite)
            let entries = try #require(open.sharing?.share?.participants) + [kept]
            let closed = try await stage.save(
                "share", tag: open.recordChangeTag,
                ShareInput(publicPermission: SharePermission.none, participants: entries))
            #expect(closed.sharing?.share?.participants.map(\.role) == [.owner, .user])
            #expect(try await stage.visible(to: grace, of: hierarchy) == hierarchy)
            try await stage.shared(grace).save("milk", in: SharingStage.seen)
        },
        .init("an invitation by the name of a user who takes part changes the right, and asks for no other acceptance")
        { engine, _ in
            let stage = try await SharingStage(on: engine)
            let share = try await stage.share(publicPermission: .readOnly)
            for isFirst in [true, false] {
                try await stage.accept(share, as: grace)
                let open = try await stage.current("share")
                let entries = try #require(open.sharing?.share?.participants)
                let invitation = SharingStage.invitation(grace, .readWrite)
                let invited = try await stage.save(
                    "share", tag: open.recordChangeTag,
                    ShareInput(
                        participants: isFirst ? [entries[0], invitation] + entries.dropFirst() : entries + [invitation])
                )
                #expect(
                    invited.sharing?.share?.participants.map(\.role) == [.owner, .user]
                        && invited.sharing?.share?.guests == [grace.userRecordName])
                try await stage.shared(grace).save("milk", in: SharingStage.seen)
                // The entry does not depend on the link.
                let closed = try await stage.save(
                    "share", tag: invited.recordChangeTag, ShareInput(publicPermission: SharePermission.none))
                #expect(try await stage.visible(to: grace, of: hierarchy) == hierarchy)
                // Alone in the list, it keeps her as a guest too.
                var again = SharingStage.invitation(grace, .readOnly)
                again.participantID = "again"
                let alone = try await stage.save(
                    "share", tag: closed.recordChangeTag, ShareInput(participants: [again]))
                #expect(alone.sharing?.share?.participants.map(\.status) == [.accepted, .accepted])
                #expect(try await stage.visible(to: grace, of: hierarchy) == hierarchy)
                #expect(
                    await refusal { try await stage.shared(grace).save("milk", in: SharingStage.seen) }?.code == denied)
                try await stage.save(
                    "share", tag: alone.recordChangeTag, ShareInput(publicPermission: .readOnly, participants: []))
                #expect(try await stage.visible(to: grace, of: hierarchy) == [])
            }
        },
        .sharing("a user who leaves a zone leaves the shares that give no right too") { stage in
            let list = try await stage.share(with: [SharingStage.invitation(grace)])
            let diary = try await stage.share("diary", as: "diary share", with: [SharingStage.invitation(grace)])
            for share in [list, diary] { try await stage.accept(share, as: grace) }
            func give(_ permission: SharePermission) async throws -> [ShareParticipant.Status] {
                let share = try await stage.current("diary share")
                guard var participants = share.sharing?.share?.participants else { return [] }
                participants[1].permission = permission
                let saved = try await stage.save(
                    "diary share", tag: share.recordChangeTag, ShareInput(participants: participants))
                return saved.sharing?.share?.participants.map(\.status) ?? []
            }
            #expect(try await give(.none) == [.accepted, .accepted])
            for result in try await stage.shared(grace).modifyZones([.delete(SharingStage.seen)]) {
                _ = try result.get()
            }
            #expect(try await stage.shared(grace).zones().isEmpty)
            // A right alone does not bring her back.
            #expect(try await give(.readWrite) == [.accepted, .removed])
            #expect(try await stage.shared(grace).zones().isEmpty)
        },
        .sharing("texts of participants are bounded") { stage in
            let long = String(repeating: "x", count: RecordID.nameLimit + 1)
            let invalid: [(ShareParticipant, member: String)] = [
                (
                    ShareParticipant(participantID: long, lookupInfo: LookupInfo(userRecordName: grace.userRecordName)),
                    "participantId"
                ),
                (
                    ShareParticipant(
                        participantID: "a\u{7}", lookupInfo: LookupInfo(userRecordName: grace.userRecordName)),
                    "participantId"
                ),
                (ShareParticipant(participantID: "a", lookupInfo: LookupInfo(emailAddress: long)), "emailAddress"),
                (
                    ShareParticipant(participantID: "a", lookupInfo: LookupInfo(emailAddress: "a\n@example.org")),
                    "emailAddress"
                ),
                (ShareParticipant(participantID: "a", lookupInfo: LookupInfo(phoneNumber: long)), "phoneNumber"),
                (
                    ShareParticipant(participantID: "a", lookupInfo: LookupInfo(userRecordName: Name(long))),
                    "userRecordName"
                ),
                (ShareParticipant(participantID: "a", userRecordName: Name(long)), "userRecordName"),
            ]
            for (participant, member) in invalid {
                let refused = await refusal { try await stage.share(with: [participant]) }
                #expect(
                    refused?.code == .badRequest && refused?.reason.contains("'\(member)' of a participant") == true,
                    "\(member): \(String(describing: refused))")
            }
            // The same person again and again is one participant, but not without end.
            let crowd = (0...2 * Share.participantLimit).map {
                ShareParticipant(participantID: "\($0)", lookupInfo: LookupInfo(emailAddress: "a@example.org"))
            }
            #expect(await refusal { try await stage.share(with: crowd) }?.code == .badRequest)
            let share = try await stage.share(with: Array(crowd.prefix(Share.participantLimit + 1)))
            #expect(share.sharing?.share?.participants.count == 2)
            let fits = ShareParticipant(
                participantID: String(long.dropLast()), lookupInfo: LookupInfo(emailAddress: String(long.dropLast())))
            #expect(
                try await stage.save("share", tag: share.recordChangeTag, ShareInput(participants: [fits])).sharing?
                    .share?.participants.count == 2)
        },
        .init("an open link shows strangers the owner, and no other participant") { engine, _ in
            let stage = try await SharingStage(on: engine)
            let byMail = ShareParticipant(
                participantID: "mail", lookupInfo: LookupInfo(emailAddress: "bob@example.org"))
            let share = try await stage.share(
                publicPermission: .readOnly, with: [SharingStage.invitation(grace), byMail])
            func resolve(as caller: Caller) async throws -> ResolvedShare {
                try await engine.full(.public, as: caller).require(.shareRecords).resolve(
                    [share.sharing?.shortGUID ?? ""], by: LookupInfo(userRecordName: caller.userRecordName))[0].get()
            }
            let found = try await resolve(as: mary)
            #expect(
                found.participant == nil
                    && found.share.sharing?.share?.participants.map(\.userRecordName) == [ada.userRecordName])
            #expect(
                found.share.sharing?.share?.publicPermission == .readOnly
                    && found.share.sharing?.shortGUID == share.sharing?.shortGUID)
            for caller in [ada, grace] {
                #expect(try await resolve(as: caller).share.sharing?.share?.participants.count == 3)
            }
            try await stage.accept(share, as: mary)
            #expect(try await resolve(as: mary).share.sharing?.share?.participants.count == 4)
        },
    ]
}
