import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import RemoteRecordStore
import TestSupport
import Testing

@testable import Accounts

/// The pages of a container in iCloud.
@Suite struct ConnectedPageTests {
    // MARK: Frame

    @Test func theStartPageAndOtherPagesDoNotWaitForICloud() async throws {
        try await ConnectedStage.run { stage in
            let before = stage.requestCount
            let start = try await stage.page("/")
            #expect(
                start.contains(ConnectedStage.container) && start.contains("<span class=\"pill has\">iCloud</span>")
                    && start.contains("development, writable"))
            for path in ["requests", "sync", "errors", "keys", "mirror"] {
                _ = try await stage.get("\(ConnectedStage.there)/\(path)")
            }
            _ = try await stage.page("/connect")
            _ = try await stage.get("/find?q=nothing")
            #expect(stage.requestCount == before)
            // The control: this page shows the zones.
            #expect(try await stage.page("zones").contains(">Notes</a>"))
            #expect(stage.requestCount > before)
        }
    }

    @Test func eachPageSaysThatItIsICloud() async throws {
        try await ConnectedStage.run { stage in
            let page = try await stage.page("changes?zone=Notes")
            #expect(page.contains("<strong>iCloud · development · writable</strong>"))
            #expect(page.contains(/\d+ requests? to iCloud took [\d.]+ ms/))
            #expect(page.contains("\(ConnectedStage.container) <span class=\"pill has\">iCloud</span>"))
            #expect(page.contains("><bdi>before</bdi> <small>note</small></a>"))
            #expect(try await stage.page("errors").contains("<strong>iCloud · development · writable</strong>"))
        }
        try await ConnectedStage.run(.production, isWritable: false) { stage in
            let page = try await stage.page("/c/\(ConnectedStage.container)/production/private/zones")
            #expect(
                page.contains("<strong>iCloud · production · read-only</strong>") && !page.contains(">development</a>"))
        }
    }

    @Test func aContainerOfThisMachineHasNoBanner() async throws {
        try await ConnectedStage.run { stage in
            _ = try await stage.post("/containers", [("container", "iCloud.com.example.Local")])
            let page = try await stage.page("/c/iCloud.com.example.Local/development/private/zones")
            #expect(
                !page.contains("<strong>iCloud ·")
                    && page.contains("iCloud.com.example.Real <span class=\"pill has\">iCloud</span>"))
        }
    }

    @Test func aConnectionThatFailsIsExplainedWithinTheFrame() async throws {
        try await ConnectedStage.run { stage in
            let connection = try await stage.connection()
            try await stage.accounts.connect(
                ContainerConnection(
                    container: connection.container, environment: .development, address: stage.address,
                    credentials: .webAuth(apiToken: "0123456789abcdef", webAuthToken: "nothing"),
                    userRecordName: stage.user))
            let answer = try await stage.get("\(ConnectedStage.there)/query")
            let page = EditStage.text(answer)
            #expect(
                answer.status.code >= 400 && page.contains("<strong>iCloud · development · writable</strong>")
                    && page.contains("/mirror"))
            #expect(!page.contains("0123456789abcdef"))
        }
    }

    // MARK: Changes

    @Test func aChangeIsAskedForOnce() async throws {
        try await ConnectedStage.run { stage in
            let form = try await stage.page("record/edit?zone=Notes&name=note")
            let number = try #require(form.firstMatch(of: /name="field(\d+)" value="title"/)?.output.1)
            let question = EditStage.text(
                try await stage.send("record/save", of: form, ["text-\(number)-1": "after <b>"], button: ("do", "save"))
            )
            #expect(
                question.contains("Change \(ConnectedStage.container) (development) in iCloud?")
                    && question.contains("Nothing has been changed yet"))
            #expect(try await stage.values("note")["title"] == .string("before"))
            // Pages of other sites can tell the names of containers, and that is no leave.
            for name in [ConnectedStage.container, "\(ConnectedStage.container) (development)"] {
                let other = try await stage.send("record/save", of: question, ["change-in-icloud": name])
                #expect(EditStage.text(other).contains("in iCloud?"))
            }
            #expect(try await stage.values("note")["title"] == .string("before"))
            let saved = try stage.location(try await stage.send("record/save", of: question))
            #expect(saved.contains("notice=record-saved") && !saved.contains("change-in-icloud"))
            #expect(try await stage.values("note") == ["title": .string("after <b>"), "rank": .int64(1)])
        }
    }

    @Test func zonesAndDeletionsAreAskedForToo() async throws {
        try await ConnectedStage.run { stage in
            let zones = try await stage.page("zones")
            _ = try stage.location(try await stage.sendAndConfirm("zones/create", of: zones, ["zoneName": "Other"]))
            #expect(try await stage.there().zones().contains { $0.zoneID.zoneName == "Other" })
            let deletion = try await stage.page("record/delete?zone=Notes&name=note")
            #expect(try await stage.exists("note"))
            let after = try await stage.page(
                try stage.location(try await stage.sendAndConfirm("record/delete", of: deletion)))
            #expect(try await !stage.exists("note"))
            #expect(
                after.contains("The record is deleted.") && after.contains("the deletion can’t be undone")
                    && !after.contains("NOT_FOUND"))
            #expect(try await stage.page("record?zone=Notes&name=note").contains("NOT_FOUND"))
        }
    }

    @Test func aChangeOfAllMatchesIsAskedForBeforeItBegins() async throws {
        try await ConnectedStage.run { stage in
            _ = try await stage.there().require(.editSchema).edit([
                .addIndexes(.queryable, of: .system(.recordID), in: "Note")
            ])
            let container = try #require(ContainerID(ConnectedStage.container))
            let engine = try #require(try stage.containers.connected(container, .development))
            engine.learnIndexes(
                from: try Schema(
                    text: "DEFINE SCHEMA RECORD TYPE Note ( \"___recordID\" REFERENCE QUERYABLE, title STRING );"))
            let dry = try await stage.page("bulk?zone=Notes&type=Note&change=delete&dry=1")
            let question = EditStage.text(try await stage.send("bulk/run", of: dry))
            #expect(question.contains("Change \(ConnectedStage.container) (development) in iCloud?"))
            #expect(try await stage.exists("note"))
            _ = try stage.location(try await stage.send("bulk/run", of: question))
            try await eventually { try await !stage.exists("note") }
        }
    }

    @Test func aCopyOfAZoneIsLeftToTheMirror() async throws {
        try await ConnectedStage.run { stage in
            let page = EditStage.text(try await stage.get("\(ConnectedStage.there)/zone/copy?zone=Notes"))
            #expect(
                page.contains("CloudKit doesn&#39;t provide this")
                    && page.contains("<a href=\"\(ConnectedStage.there)/mirror"))
        }
    }

    @Test(arguments: [false, true]) func aNewRecordIsOfferedWhereItCanBeSaved(isWritable: Bool) async throws {
        try await ConnectedStage.run(.production, isWritable: isWritable) { stage in
            for result in try await stage.there(.production).modifyZones([.create(ConnectedStage.notes)]) {
                _ = try result.get()
            }
            let page = try await stage.page("/c/\(ConnectedStage.container)/production/private/changes?zone=Notes")
            #expect(page.contains("The zone has no records.") && page.contains("/record/new") == isWritable)
        }
    }

    @Test func readOnlyIsRefusedWithAndWithoutLeave() async throws {
        try await ConnectedStage.run(.production, isWritable: false) { stage in
            let id = try #require(stage.accounts.connections().first?.id)
            for more in [[], [("change-in-icloud", id)]] {
                let answer = try await stage.post(
                    "/c/\(ConnectedStage.container)/production/private/zones/create", [("zoneName", "Other")] + more)
                #expect(EditStage.text(answer).contains("is connected read-only") && answer.status == .forbidden)
            }
            #expect(try await stage.there(.production).zones().allSatisfy(\.zoneID.isDefault))
        }
    }

    // MARK: Tabs

    @Test func tokensHaveTheMomentWhenTheyCame() async throws {
        try await ConnectedStage.run { stage in
            let first = try await stage.page("changes?zone=Notes")
            let token = try #require(first.firstMatch(of: /token=([^&"]+)"[^>]*title="Explain this token"/)?.output.1)
            let since = try await stage.page("changes?zone=Notes&since=1&token=\(token)")
            #expect(since.contains(/received \d\d:\d\d UTC today/) && since.contains(/0 pulls since|1 pull since/))
            let again = try await stage.page("changes?zone=Notes&since=1&token=\(token)")
            #expect(again.contains(/[1-9] pulls? since/))
            #expect(try await stage.page("changes?zone=Notes&since=1&token=AQID").contains("not received here lately"))
        }
    }

    @Test func theQueryFormSaysWhereItKnowsAnIndexFrom() async throws {
        try await ConnectedStage.run { stage in
            #expect(try await stage.page("query?zone=Notes").contains("Which record type?"))
            let refused = try await stage.page("query?zone=Notes&type=Note")
            #expect(refused.contains("is not marked") && refused.contains("missing. iCloud refused a query for it"))
            let schema =
                "DEFINE SCHEMA RECORD TYPE Note ( \"___recordID\" REFERENCE QUERYABLE, title STRING QUERYABLE );"
            let container = try #require(ContainerID(ConnectedStage.container))
            let engine = try #require(try stage.containers.connected(container, .development))
            engine.learnIndexes(from: try Schema(text: schema))
            let draft = try await stage.page("query?zone=Notes&type=Note&filter1=title&is1=EQUALS&value1=x&draft=1")
            #expect(draft.contains("title QUERYABLE: in the schema file"))
        }
    }

    @Test func filesAreDownloadedThroughTheConsole() async throws {
        try await ConnectedStage.run { stage in
            let bytes = [UInt8]("a file of iCloud".utf8)
            try await stage.saveFile("p", bytes)
            for path in ["record?zone=Notes&name=p", "fetch?zone=Notes&assets=with&names=p"] {
                let page = try await stage.page(path)
                let link = try #require(page.firstMatch(of: /href="([^"]*record\/file[^"]*)"/)?.output.1, "\(path)")
                let answer = try await stage.get(String(link).replacing("&amp;", with: "&"))
                #expect(answer.status == .ok && Array(answer.body.readableBytesView) == bytes)
                #expect(answer.headers[.contentDisposition]?.hasPrefix("attachment") == true)
                #expect(!page.contains("data-assets") && !page.contains("data-fetching"))
            }
            let missing = try await stage.get("\(ConnectedStage.there)/record/file?zone=Notes&name=p&field=none")
            #expect(missing.status == .notFound)
        }
    }

    @Test func pagesOfWhatCloudKitDoesNotTellOfferTheMirror() async throws {
        try await ConnectedStage.run { stage in
            for path in ["history", "explain?type=Note&zone=Notes", "advice"] {
                let page = EditStage.text(try await stage.get("\(ConnectedStage.there)/\(path)"))
                #expect(
                    page.contains("CloudKit doesn&#39;t provide this")
                        && page.contains("<a href=\"\(ConnectedStage.there)/mirror"), "\(path)")
            }
        }
    }
}
