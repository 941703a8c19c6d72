import HTTPTypes
import HummingbirdTesting
import RecordStore
import Records
import TestSupport
import Testing

@testable import Accounts
@testable import RecordPages

/// The mirror of a container in iCloud, and the changes in it that iCloud does not have.
@Suite struct MirrorPageTests {
    /// Makes the mirror, and waits for the end of the pull.
    @discardableResult
    private func pull(_ stage: ConnectedStage, _ changes: [String: String] = [:]) async throws -> String {
        let form = try await stage.page("mirror")
        #expect(
            try stage.location(try await stage.send("mirror/start", of: form, changes))
                == "\(ConnectedStage.there)/mirror")
        try await eventually { try await !stage.page("mirror").contains("data-live=") }
        return try await stage.page("mirror")
    }

    /// Changes the title of a record in the mirror.
    private func edit(_ stage: ConnectedStage, _ name: String, _ changes: [String: String]) async throws {
        let form = try await stage.page("\(ConnectedStage.mirror)/record/edit?zone=Notes&name=\(name)")
        var typed: [String: String] = [:]
        for (field, text) in changes {
            let number = try #require(
                form.firstMatch(of: try Regex("name=\"field(\\d+)\" value=\"\(field)\""))?.output[1].substring)
            typed["text-\(number)-1"] = text
        }
        let answer = try await stage.send("record/save", of: form, typed, button: ("do", "save"))
        #expect(try stage.location(answer).contains("notice=record-saved"))
    }

    /// Sends all changes, and returns the page of the finished work.
    private func sendNow(_ stage: ConnectedStage) async throws -> String {
        let page = try await stage.page("\(ConnectedStage.mirror)/unsent")
        let run = try stage.location(try await stage.sendAndConfirm("unsent/send", of: page))
        try await eventually { try await !stage.page(run).contains("data-live=") }
        return try await stage.page(run)
    }

    private static let unsent = "\(ConnectedStage.mirror)/unsent"

    @Test func aMirrorIsMadeAndShowsItsPulls() async throws {
        try await ConnectedStage.run { stage in
            let done = try await pull(stage, ["types": ""])
            #expect(
                done.contains("<span class=\"state good\">done</span>") && done.contains("1 saved, 0 deleted")
                    && done.contains("Latest pulls with changes"))
            // The mirror is the user's, who is no user of this server, and answers without an index.
            let page = try await stage.page(
                "\(ConnectedStage.mirror)/query?zone=Notes&type=Note&filter1=title&is1=EQUALS&value1=before")
            #expect(
                page.contains("><bdi>before</bdi></a>") && page.contains("<strong>Mirror</strong>")
                    && page.contains("a copy of \(ConnectedStage.container) (development)"))
            try await stage.save("second", ["title": .string("new")])
            #expect(try await pull(stage).contains("1 saved, 0 deleted"))
            #expect(try await stage.page("\(ConnectedStage.mirror)/record?zone=Notes&name=second").contains("new"))
        }
    }

    @Test func filesAreFetchedOnDemand() async throws {
        try await ConnectedStage.run { stage in
            try await stage.saveFile("p", [UInt8]("a file of iCloud".utf8))
            try await pull(stage)
            let path = "\(ConnectedStage.mirror)/record?zone=Notes&name=p"
            let before = try await stage.page(path)
            #expect(before.contains("Fetch the files from iCloud"))
            _ = try stage.location(try await stage.send("mirror/files", of: before))
            let after = try await stage.page(path)
            let link = try #require(after.firstMatch(of: /href="(\/assets\/[^"]*)"/)?.output.1)
            #expect(!after.contains("Fetch the files from iCloud") && link.contains("/download/"))
        }
    }

    @Test func followingGoesOnUntilItIsStopped() async throws {
        try await ConnectedStage.run { stage in
            let form = try await stage.page("mirror")
            _ = try stage.location(try await stage.send("mirror/start", of: form, ["follow": "on"]))
            try await eventually { try await stage.page("mirror").contains("1 saved") }
            let running = try await stage.page("mirror")
            #expect(running.contains(">following</span>") && running.contains("data-live="))
            // A second pull at the same time is refused.
            let second = try await stage.post("\(ConnectedStage.there)/mirror/start", [])
            #expect(EditStage.text(second).contains("is being pulled"))
            _ = try stage.location(try await stage.send("mirror/stop", of: running))
            try await eventually { try await stage.page("mirror").contains(">stopped</span>") }
        }
    }

    @Test func changesAreListedAndSentAfterAQuestion() async throws {
        try await ConnectedStage.run { stage in
            try await pull(stage)
            #expect(try await stage.page(Self.unsent).contains("Nothing waits to be sent"))
            try await edit(stage, "note", ["title": "after"])
            let before = stage.requestCount
            let list = try await stage.page(Self.unsent)
            #expect(
                list.contains("1 change to send") && list.contains(">update</td>") && list.contains("title")
                    && list.contains("Send now"))
            let question = EditStage.text(try await stage.send("unsent/send", of: list))
            #expect(question.contains("Change \(ConnectedStage.container) (development) in iCloud?"))
            #expect(stage.requestCount == before, "looking and asking send nothing")
            let run = try await sendNow(stage)
            #expect(
                run.contains("Send 1 change to \(ConnectedStage.container) (development)")
                    && run.contains(">done</span>"))
            #expect(try await stage.values("note") == ["title": .string("after"), "rank": .int64(1)])
            #expect(try await stage.page(Self.unsent).contains("Nothing waits to be sent"))
        }
    }

    @Test func aForgottenConnectionSendsNothing() async throws {
        try await ConnectedStage.run { stage in
            try await pull(stage)
            try await edit(stage, "note", ["title": "after"])
            let connection = try #require(stage.accounts.connections().first)
            _ = try await stage.accounts.disconnect(connection.container, .development)
            #expect(EditStage.text(try await stage.get(Self.unsent)).contains("is no mirror of a connected container"))
            #expect(try await stage.values("note")["title"] == .string("before"))
        }
    }

    /// A conflict of one record, beside another change.
    private func conflict(_ stage: ConnectedStage, mine: [String: String], theirs: [Name: FieldValue]) async throws {
        try await stage.save("other", ["title": .string("other")])
        try await pull(stage)
        try await edit(stage, "note", mine)
        try await edit(stage, "other", ["title": "sent"])
        try await stage.save("note", theirs)
        let run = try await sendNow(stage)
        #expect(run.contains("CONFLICT") && run.contains(">note<"))
        #expect(try await stage.values("other")["title"] == .string("sent"), "a conflict stops its record only")
        let list = try await stage.page(Self.unsent)
        #expect(
            list.contains("Conflicts") && list.contains("changed here") && list.contains("changed in iCloud")
                && list.contains("0 changes to send"))
    }

    @Test func aConflictIsMergedFieldByField() async throws {
        try await ConnectedStage.run { stage in
            try await conflict(stage, mine: ["title": "mine"], theirs: ["rank": .int64(2)])
            let versions = try await stage.page("\(ConnectedStage.mirror)/unsent/conflict?zone=Notes&name=note")
            #expect(
                versions.contains("changed in iCloud before your change was sent")
                    && versions.contains("both changes can be merged"))
            for text in ["mine", "before", "changed by you", "changed on the server"] {
                #expect(versions.contains(text))
            }
            let settled = try stage.location(
                try await stage.send("unsent/resolve", of: versions, button: ("do", "save")))
            #expect(settled == "\(Self.unsent)?notice=conflict-settled")
            #expect(
                try await stage.values("note") == ["title": .string("before"), "rank": .int64(2)], "nothing is sent yet"
            )
            _ = try await sendNow(stage)
            #expect(try await stage.values("note") == ["title": .string("mine"), "rank": .int64(2)])
        }
    }

    @Test(arguments: [("mine", "mine"), ("theirs", "theirs")])
    func aFieldThatBothChangedIsChosen(pick: String, title: String) async throws {
        try await ConnectedStage.run { stage in
            try await conflict(stage, mine: ["title": "mine"], theirs: ["title": .string("theirs"), "rank": .int64(2)])
            let versions = try await stage.page("\(ConnectedStage.mirror)/unsent/conflict?zone=Notes&name=note")
            let number = try #require(versions.firstMatch(of: /name="field(\d+)" value="title"/)?.output.1)
            #expect(
                try await stage.send("unsent/resolve", of: versions, button: ("do", "save")).status == .badRequest,
                "the contested field has no choice")
            _ = try stage.location(
                try await stage.send("unsent/resolve", of: versions, ["pick\(number)": pick], button: ("do", "save")))
            let list = try await stage.page(Self.unsent)
            if pick == "mine" {
                _ = try await sendNow(stage)
            } else {
                #expect(list.contains("Nothing waits to be sent"))
            }
            #expect(try await stage.values("note") == ["title": .string(title), "rank": .int64(2)])
            let here = try await stage.page("\(ConnectedStage.mirror)/record?zone=Notes&name=note")
            #expect(here.contains(title))
        }
    }

    @Test func aConflictOfTheLargestRecordsIsMerged() async throws {
        try await ConnectedStage.run { stage in
            let text = String(repeating: "あ", count: 349_000)
            try await conflict(stage, mine: ["title": text + "m"], theirs: ["title": .string(text + "t")])
            let versions = try await stage.page("\(ConnectedStage.mirror)/unsent/conflict?zone=Notes&name=note")
            _ = try stage.location(try await stage.send("unsent/resolve", of: versions, button: ("do", "mine")))
            _ = try await sendNow(stage)
            #expect(try await stage.values("note")["title"] == .string(text + "m"))
        }
    }

    @Test(arguments: [("mine", "mine"), ("theirs", "theirs")])
    func aConflictIsSettledAsAWhole(version: String, title: String) async throws {
        try await ConnectedStage.run { stage in
            try await conflict(stage, mine: ["title": "mine"], theirs: ["title": .string("theirs")])
            let list = try await stage.page(Self.unsent)
            _ = try stage.location(try await stage.send("unsent/settle", of: list, ["version": version]))
            if version == "mine" { _ = try await sendNow(stage) }
            #expect(try await stage.values("note")["title"] == .string(title))
            #expect(try await stage.page(Self.unsent).contains("Nothing waits to be sent"))
        }
    }

    @Test func aConflictOfOtherVersionsIsNotSettled() async throws {
        try await ConnectedStage.run { stage in
            try await conflict(stage, mine: ["title": "mine"], theirs: ["rank": .int64(2)])
            let address = "\(ConnectedStage.mirror)/unsent/conflict?zone=Notes&name=note"
            let (versions, list) = (try await stage.page(address), try await stage.page(Self.unsent))
            // A later version comes from iCloud while the pages are open.
            try await stage.save("note", ["title": .string("theirs")])
            try await pull(stage)
            let shown = EditStage.text(try await stage.send("unsent/resolve", of: versions, button: ("do", "save")))
            #expect(
                shown.contains("changed in iCloud before your change was sent")
                    && shown.contains("changed on both sides"))
            for version in ["mine", "theirs"] {
                #expect(
                    try await stage.send("unsent/settle", of: list, ["version": version]).status == .conflict)
            }
            // And the record is edited here once more.
            try await edit(stage, "note", ["title": "mine again"])
            let again = EditStage.text(try await stage.send("unsent/resolve", of: shown, button: ("do", "theirs")))
            #expect(again.contains("mine again"))
            #expect(try await stage.page(Self.unsent).contains("changed in iCloud"), "the conflict is still there")
            _ = try stage.location(try await stage.send("unsent/resolve", of: again, button: ("do", "theirs")))
            #expect(try await stage.page(Self.unsent).contains("Nothing waits to be sent"))
        }
    }

    @Test func aForgottenConnectionHasNoTurn() async throws {
        try await ConnectedStage.run { stage in
            let jobs = MirrorJobs(stage.accounts)
            let connection = try #require(stage.accounts.connections().first)
            #expect(try await jobs.turn(at: connection) { 1 } == 1)
            // One of the same container, such as a read-only one.
            try await stage.accounts.connect(try await stage.connection())
            await #expect(throws: Records.RecordError.self) { try await jobs.turn(at: connection) { 1 } }
        }
    }

    @Test func aContainerThatIsNoMirrorHasNothingToSend() async throws {
        try await ConnectedStage.run { stage in
            _ = try await stage.post("/containers", [("container", "iCloud.com.example.Local")])
            let page = EditStage.text(try await stage.get("/c/iCloud.com.example.Local/development/private/unsent"))
            #expect(page.contains("is no mirror of a connected container") && !page.contains(">Not sent</a>"))
        }
    }
}
