import Accounts
import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import Testing

/// Sharing a list with forms, accepting it by its link, and what each page says about it.
@Suite struct SharePageTests {
    // MARK: The record's page and the form

    @Test func aRecordIsSharedAndItsPageSaysWithWhomAndWhy() async throws {
        try await ShareStage.run { stage in
            let alone = try await stage.edit.page("record?zone=Notes&name=milk")
            #expect(
                alone.contains("Nobody else sees this record.") && alone.contains("/share?zone=Notes&amp;name=milk"))
            let form = try await stage.edit.page("share?zone=Notes&name=list")
            let inputs: [String: String?] = [
                "title": "Groceries", "type": " com.example.list ", "invite": stage.grace.handle,
                "addresses": "mary@example.org\r\n", "right": "READ_ONLY",
            ]
            let preview = EditStage.text(
                try await stage.edit.send("share", of: form, inputs, button: ("do", "preview")))
            for part in [
                "&quot;forRecord&quot;", "Groceries", "mary@example.org", "CloudKit JS", "curl", "cloudkit.share",
                "cloudkit.type",
            ] { #expect(preview.contains(part), "\(part)") }
            #expect(try await stage.edit.record("list").sharing == nil)
            let made = try await stage.edit.send("share", of: preview, button: ("do", "save"))
            #expect(try stage.edit.location(made).contains("name=list&notice=share-made"))
            let share = try await stage.share()
            #expect(share.publicPermission == .none && share.participants.map(\.role) == [.owner, .user, .user])
            #expect(share.participants.dropFirst().allSatisfy { $0.status == .invited && $0.permission == .readOnly })
            #expect(
                share.participants.dropFirst().map(\.lookupInfo) == [
                    LookupInfo(userRecordName: stage.grace.userRecordName),
                    LookupInfo(emailAddress: "mary@example.org"),
                ])
            let root = try await stage.edit.page("record?zone=Notes&name=list")
            #expect(
                root.contains("The root of the share ") && root.contains("“Groceries”") && root.contains("Grace Hopper")
                    && root.contains(">pending<"))
            #expect(root.contains("/share/\(share.shortGUID)#Groceries"))
            let child = try await stage.edit.page("record?zone=Notes&name=milk")
            #expect(child.contains("A child of") && child.contains("only invited users can use the link"))
            let below = try await stage.edit.page("record?zone=Notes&name=brand")
            #expect(below.contains("Below") && below.contains("Its parents:") && below.contains(">milk</a>"))
            #expect(try await stage.edit.page("record?zone=Notes&name=diary").contains("Nobody else sees this record."))
        }
    }

    @Test func whatIsTypedStaysWhenItIsRefused() async throws {
        try await ShareStage.run { stage in
            let form = try await stage.edit.page("share?zone=Notes&name=list")
            let refused = EditStage.text(
                try await stage.edit.send(
                    "share", of: form, ["title": "Kept", "addresses": "nobody"], button: ("do", "save")))
            #expect(
                refused.contains("There is no user &#39;nobody&#39;") && refused.contains("value=\"Kept\"")
                    && refused.contains("nobody</textarea>"))
            #expect(try await stage.edit.record("list").sharing == nil)
            // The rules refuse it, not the form.
            let elsewhere = try await stage.edit.page("share?zone=_defaultZone&name=top")
            let answer = EditStage.text(try await stage.edit.send("share", of: elsewhere, button: ("do", "save")))
            #expect(answer.contains("Only records in custom zones of a private database can be shared"))
        }
    }

    @Test func aWholeZoneIsSharedWithTheSameForm() async throws {
        try await ShareStage.run { stage in
            #expect(try await stage.edit.page("zone?zone=Notes").contains("/share?zone=Notes\">Share the whole zone…"))
            let form = try await stage.edit.page("share?zone=Notes")
            let answer = try await stage.edit.send("share", of: form, ["link": "READ_ONLY"], button: ("do", "save"))
            let page = try await stage.edit.page(try stage.edit.location(answer))
            #expect(page.contains("The share is created.") && page.contains("Guests see all records of the zone."))
            #expect(try await stage.share(Share.zoneWideName).rootName == nil)
            let record = try await stage.edit.page("record?zone=Notes&name=diary")
            #expect(
                record.contains("In a zone that is shared as a whole")
                    && record.contains("everybody with the link may read"))
            #expect(!record.contains("Share…</a>"))
        }
    }

    // MARK: Changing a share

    @Test func rightsLinkAndParticipantsAreChanged() async throws {
        try await ShareStage.run { stage in
            let page = try await stage.shared(with: stage.grace, stage.mary)
            let before = try await stage.share()
            let answer = try await stage.edit.send(
                "share", of: page,
                [
                    "link": "READ_WRITE", "right2": "ADMINISTRATOR", "remove3": "1", "title": "New title",
                    "type": " com.example.list ",
                ],
                button: ("do", "save"))
            let changed = try await stage.edit.page(try stage.edit.location(answer))
            let after = try await stage.share()
            #expect(
                after.publicPermission == .readWrite
                    && after.participants.map(\.participantID) == before.participants.dropLast().map(\.participantID))
            #expect(
                after.participants.last?.role == .administrator && after.participants.last?.permission == .readWrite)
            #expect(changed.contains("name=\"type\" value=\"com.example.list\""))
            #expect(changed.contains("Shared: New title") && changed.contains("value=\"ADMINISTRATOR\" selected"))
            let untouched = EditStage.text(try await stage.edit.send("share", of: changed, button: ("do", "save")))
            #expect(untouched.contains("Nothing was changed, so nothing was saved."))
            #expect(try await stage.share() == after)
        }
    }

    @Test func aSaveThatCameTooLateShowsTheNewState() async throws {
        try await ShareStage.run { stage in
            let old = try await stage.shared(with: stage.grace)
            _ = try await stage.accept(as: stage.grace)
            let late = EditStage.text(
                try await stage.edit.send("share", of: old, ["remove2": "1"], button: ("do", "save")))
            #expect(
                late.contains("client oplock error") && late.contains("after you loaded the form, so nothing was saved")
            )
            #expect(late.contains(">accepted<") && !late.contains(">pending<"))
            #expect(try await stage.share().guests == [stage.grace.userRecordName])
            // The new form saves.
            _ = try stage.edit.location(
                try await stage.edit.send("share", of: late, ["remove2": "1"], button: ("do", "save")))
            #expect(try await stage.share().guests == [])
            // A form for a new share, of a record that is shared by now.
            let unshared = try await stage.edit.page("share?zone=Notes&name=diary")
            _ = try stage.edit.location(try await stage.edit.send("share", of: unshared, button: ("do", "save")))
            let again = EditStage.text(
                try await stage.edit.send("share", of: unshared, ["title": "Twice"], button: ("do", "save")))
            #expect(again.contains("so nothing was saved") && !again.contains("Twice"))
        }
    }

    @Test func stoppingSaysWhoLosesWhat() async throws {
        try await ShareStage.run { stage in
            _ = try await stage.shared(with: stage.grace, stage.mary)
            let early = try await stage.edit.page("share/stop?zone=Notes&name=list")
            #expect(early.contains("Nobody has accepted it") && early.contains("2 invitations"))
            _ = try await stage.accept(as: stage.grace)
            let asked = EditStage.text(try await stage.edit.send("share/stop", of: early))
            #expect(
                asked.contains("changed the share in the meantime") && asked.contains("Grace Hopper loses the records")
                    && asked.contains("1 invitation "))
            let link = "/share/\(try await stage.share().shortGUID)"
            #expect(
                try stage.edit.location(try await stage.edit.send("share/stop", of: asked)).contains(
                    "name=list&notice=share-stopped"))
            #expect(try await stage.edit.record("list").sharing?.shareName == nil)
            #expect(try await stage.edit.get(link).status == .notFound)
            #expect(try await stage.edit.get("share/stop?zone=Notes&name=list").status == .notFound)
        }
    }

    @Test func aGuestWhoMayOnlyReadIsOfferedNoNewRecord() async throws {
        try await ShareStage.run { stage in
            _ = try await stage.shared(with: stage.grace)
            _ = try await stage.accept(as: stage.grace)
            let path = try stage.page("query", of: stage.grace) + "&type=Note&filter1=rank&is1=EQUALS&value1=99"
            for (right, isOffered) in [("READ_ONLY", false), ("READ_WRITE", true)] {
                let form = try await stage.edit.page("share?zone=Notes&name=list")
                _ = try await stage.edit.send("share", of: form, ["right2": right], button: ("do", "save"))
                let page = try await stage.edit.page(path)
                #expect(page.contains("No Note matches") && page.contains("/record/new") == isOffered, "\(right)")
            }
        }
    }

    @Test func aGuestWhoMayOnlyReadKeepsWhatIsTyped() async throws {
        try await ShareStage.run { stage in
            let form = try await stage.shared(with: stage.grace)
            _ = try stage.edit.location(
                try await stage.edit.send("share", of: form, ["right2": "READ_ONLY"], button: ("do", "save")))
            _ = try await stage.accept(as: stage.grace)
            let editor = try await stage.edit.page(stage.page("record/edit", of: stage.grace) + "&name=milk")
            let number = try #require(editor.firstMatch(of: /name="field(\d+)" value="rank"/)?.output.1)
            let refused = EditStage.text(
                try await stage.edit.send("record/save", of: editor, ["text-\(number)-1": "77"], button: ("do", "save"))
            )
            #expect(refused.contains("WRITE operation not permitted") && refused.contains("77"))
            #expect(try await stage.edit.values("milk")["rank"] == .int64(1))
        }
    }

    @Test func aGuestLeavesAndIsInvitedAgain() async throws {
        try await ShareStage.run { stage in
            _ = try await stage.shared(with: stage.grace)
            _ = try await stage.accept(as: stage.grace)
            let theirs = try await stage.edit.page(stage.page("record", of: stage.grace) + "&name=milk")
            #expect(theirs.contains("A child of") && theirs.contains("Leave…") && !theirs.contains("Stop sharing…"))
            let asked = try await stage.edit.page(stage.page("share/leave", of: stage.grace) + "&name=list")
            #expect(
                asked.contains("Grace Hopper loses the records") && asked.contains("has to invite Grace Hopper again"))
            let answer = try await stage.edit.send("share/leave", of: asked)
            #expect(try await stage.edit.page(try stage.edit.location(answer)).contains("The user has left the share."))
            #expect(try await stage.share().participants.map(\.status) == [.accepted, .removed])
            #expect(
                try await stage.edit.page(stage.page("record", of: stage.grace) + "&name=milk").contains(
                    "has no record with this name"))
            let form = try await stage.edit.page("share?zone=Notes&name=list")
            #expect(form.contains(">removed<"))
            _ = try stage.edit.location(
                try await stage.edit.send("share", of: form, ["invite": stage.grace.handle], button: ("do", "save")))
            #expect(try await stage.share().participants.map(\.status) == [.accepted, .invited])
            #expect(try await stage.accept(as: stage.grace).status == .seeOther)
        }
    }

    // MARK: The link

    @Test func theLinkShowsTheInvitationAndAcceptsItInOneClick() async throws {
        try await ShareStage.run { stage in
            _ = try await stage.shared(with: stage.grace)
            let share = try await stage.share()
            let link = "/share/\(share.shortGUID)"
            let page = try await stage.edit.page(link)
            for part in [
                "<h1>Groceries</h1>", "Note record", ">list</a>", "zone",
                "Accept as Grace Hopper, invited, may read and write", "iCloud.com.example.App",
            ] {
                #expect(page.contains(part), "\(part)")
            }
            #expect(!page.contains("Mary Shelley"))
            let answer = try await stage.edit.send(share.shortGUID, of: page, button: ("user", stage.grace.handle))
            let location = try stage.edit.location(answer)
            #expect(location == "\(link)?as=\(stage.grace.handle)")
            let accepted = try await stage.edit.page(location)
            #expect(accepted.contains("<strong>Grace Hopper takes part</strong> and may read and write"))
            let theirs = try stage.page("query", of: stage.grace).replacing("&", with: "&amp;")
            #expect(accepted.contains(theirs) && !accepted.contains("Accept as"))
            let record = try await stage.edit.page(stage.page("record", of: stage.grace) + "&name=milk")
            #expect(record.contains("accepted"))
            // A second click changes nothing.
            let tag = try await stage.shareRecord().recordChangeTag
            _ = try stage.edit.location(
                try await stage.edit.send(share.shortGUID, of: page, button: ("user", stage.grace.handle)))
            #expect(try await stage.shareRecord().recordChangeTag == tag)
            // Words in the address put nothing on the page.
            #expect(try await !stage.edit.page("\(link)?as=\(stage.mary.handle)").contains("role=\"status\""))
        }
    }

    @Test func aRefusedGuestGetsAdvice() async throws {
        try await ShareStage.run { stage in
            let form = try await stage.shared(with: stage.grace)
            let link = try await stage.share().shortGUID
            let page = try await stage.edit.page("/share/\(link)")
            let before = try await stage.shareRecord().recordChangeTag
            for (user, status, words) in [
                (stage.mary.handle, HTTPResponse.Status.forbidden, "Invite the user"),
                ("developer", .badRequest, "Choose another user."), ("nobody", .notFound, "There is no user"),
            ] {
                let refused = try await stage.edit.send(link, of: page, ["who": user])
                #expect(refused.status == status)
                #expect(EditStage.text(refused).contains(words), "\(user)")
            }
            #expect(try await stage.shareRecord().recordChangeTag == before)
            let unknown = try await stage.edit.page("/share/0000", .notFound)
            #expect(unknown.contains("Ask the owner for the link") && !unknown.contains("<form"))
            // Opened to everybody, it is offered to others, who come by the link.
            _ = try stage.edit.location(
                try await stage.edit.send("share", of: form, ["link": "READ_ONLY"], button: ("do", "save")))
            let open = try await stage.edit.page("/share/\(link)")
            #expect(open.contains("Accept as Mary Shelley, may read, by the link"))
            #expect(try await stage.accept(as: stage.mary).status == .seeOther)
            #expect(try await stage.share().participants.last?.role == .publicUser)
        }
    }

    @Test func anAddressIsAnInvitationToTheUserWhoHasIt() async throws {
        try await ShareStage.run { stage in
            let form = try await stage.edit.page("share?zone=Notes&name=list")
            let addresses = "Grace@Example.com\r\nlater@example.com"
            _ = try stage.edit.location(
                try await stage.edit.send("share", of: form, ["addresses": addresses], button: ("do", "save")))
            let page = try await stage.edit.page("/share/\(try await stage.share().shortGUID)")
            #expect(
                page.contains("Accept as Grace Hopper")
                    && page.contains("later@example.com is invited, but no user has this address."))
            #expect(try await stage.accept(as: stage.grace).status == .seeOther)
            #expect(try await stage.share().guests == [stage.grace.userRecordName])
        }
    }

    @Test func theThumbnailIsAnImageOrNothing() async throws {
        try await ShareStage.run { stage in
            _ = try await stage.shared(with: stage.grace)
            let link = "/share/\(try await stage.share().shortGUID)"
            #expect(try await stage.edit.get("\(link)/thumbnail").status == .notFound)
            let picture: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3]
            for (bytes, isShown) in [
                (picture, true), (Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), false),
                (Array("<html>".utf8), false),
            ] {
                let fields: [Name: FieldInput] = [
                    Share.thumbnailField: FieldInput(.bytes(bytes)), "verse": FieldInput(.string("Milk & <bread>")),
                ]
                let name = try await stage.shareRecord().recordID.recordName
                try await stage.modify(
                    RecordOperation(.forceUpdate, recordName: name, recordType: Share.recordType, fields: fields))
                let page = try await stage.edit.page(link)
                #expect(page.contains("<img class=\"thumb\" src=\"\(link)/thumbnail\"") == isShown)
                #expect(page.contains("verse") && page.contains("Milk &amp; &lt;bread&gt;"))
                let answer = try await stage.edit.get("\(link)/thumbnail")
                #expect(answer.status == (isShown ? .ok : .notFound))
                if isShown {
                    #expect(answer.headers[.contentType] == "image/png" && Array(buffer: answer.body) == bytes)
                }
            }
        }
    }

    @Test func linksAreBehindTheGate() async throws {
        try await AccessStage.run { stage in
            #expect(try await stage.get("/share/0000").headers[.location] == "/admin/sign-in?next=%2Fshare%2F0000")
            #expect(try await stage.post("/share/0000", "user=developer").status == .unauthorized)
            let cookie = try await stage.signIn()
            #expect(try await stage.get("/share/0000", cookie).status == .notFound)
            #expect(try await stage.post("/share/0000", "user=developer", cookie).status == .forbidden)
            #expect(
                try await stage.post(
                    "/share/0000", "user=developer&form-secret=\(try await stage.secret(cookie))", cookie
                ).status == .notFound)
        }
    }
}

/// A list with children, and two users to share it with.
private struct ShareStage: Sendable {
    let edit: EditStage
    let grace: User
    let mary: User

    static func run(_ body: @Sendable (ShareStage) async throws -> Void) async throws {
        try await EditStage.run { edit in
            let grace = try await edit.accounts.makeUser(displayName: "Grace Hopper", emailAddress: "grace@example.com")
            let mary = try await edit.accounts.makeUser(displayName: "Mary Shelley", emailAddress: nil)
            let stage = ShareStage(edit: edit, grace: grace, mary: mary)
            for (name, parent) in [("list", nil), ("milk", "list"), ("brand", "milk"), ("diary", nil)]
                as [(Name, Name?)]
            {
                try await stage.modify(
                    RecordOperation(
                        .create, recordName: name, recordType: "Note", fields: ["rank": FieldInput(.int64(1))],
                        parent: parent.map { .record($0) } ?? .unchanged))
            }
            try await edit.save("top", [:], in: .default)
            try await body(stage)
        }
    }

    func modify(_ operation: RecordOperation) async throws {
        for result in try await edit.database().modify(ModifyRequest([operation], zoneID: EditStage.notes)) {
            _ = try result.get()
        }
    }

    /// Shares the list with the form, and returns the form that changes it.
    func shared(with users: User...) async throws -> String {
        var page = try await edit.page("share?zone=Notes&name=list")
        for (index, user) in users.enumerated() {
            let inputs: [String: String?] =
                index == 0 ? ["title": "Groceries", "invite": user.handle] : ["invite": user.handle]
            page = try await edit.page(
                try edit.location(try await edit.send("share", of: page, inputs, button: ("do", "save"))))
        }
        return page
    }

    /// The record that holds the share of the list.
    func shareRecord() async throws -> StoredRecord {
        try await edit.record(try #require(try await edit.record("list").sharing?.shareName))
    }

    func share(_ name: Name? = nil) async throws -> Share {
        let record = if let name { try await edit.record(name) } else { try await shareRecord() }
        return try #require(record.sharing?.share)
    }

    /// Clicks on the user on the page of the link.
    func accept(as user: User) async throws -> TestResponse {
        let link = try await share().shortGUID
        return try await edit.send(link, of: try await edit.page("/share/\(link)"), button: ("user", user.handle))
    }

    /// A page of the zone as a guest sees it.
    func page(_ page: String, of guest: User) throws -> String {
        let owner = try edit.accounts.caller(named: nil, deviceID: nil).userRecordName
        return "/c/iCloud.com.example.App/development/shared/\(page)?user=\(guest.handle)&zone=\(owner)%2FNotes"
    }
}
