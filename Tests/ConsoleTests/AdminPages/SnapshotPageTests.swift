import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import RecordStore
import Records
import RequestLog
import Testing

/// The page Snapshots: save, compare, restore, delete, and share as one file.
@Suite struct SnapshotPageTests {
    private func save(_ name: String, _ stage: EditStage) async throws {
        let answer = try await stage.send("snapshots/save", of: stage.page("snapshots"), ["name": name])
        #expect(try stage.location(answer) == "\(EditStage.there)/snapshots?notice=snapshot-saved")
    }

    /// Sends a file as a browser does.
    private func send(_ file: [UInt8], to path: String, with fields: [(String, String)] = [], _ stage: EditStage)
        async throws -> TestResponse
    {
        var body = ByteBuffer()
        for (name, value) in fields {
            body.writeString("--B0undary\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n")
        }
        body.writeString(
            "--B0undary\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.tar\"\r\nContent-Type: application/x-tar\r\n\r\n"
        )
        body.writeBytes(file)
        body.writeString("\r\n--B0undary--\r\n")
        return try await stage.client.execute(
            uri: path, method: .post, headers: [.contentType: "multipart/form-data; boundary=B0undary"], body: body
        ) { $0 }
    }

    @Test func theStateOfASnapshotComesBack() async throws {
        try await EditStage.run { stage in
            #expect(try await stage.page("snapshots").contains("No snapshots yet"))
            try await stage.save("milk", ["title": .string("Milk")])
            try await stage.save("bread", ["title": .string("Bread")])
            try await save("Before <it>", stage)
            let list = try await stage.page("snapshots?notice=snapshot-saved")
            #expect(list.contains(">Before &lt;it&gt;</a>") && list.contains("The snapshot is saved."))

            try await stage.save("milk", ["title": .string("Oat milk")])
            try await stage.save("later", ["title": .string("Later")])
            _ = try await stage.database().modify(
                ModifyRequest([RecordOperation(.forceDelete, recordName: "bread")], zoneID: EditStage.notes))
            let compared = try await stage.page("snapshots/compare?name=Before+%3Cit%3E")
            for text in [
                "1 added", "1 changed", "1 removed", ">title</td>", "record?zone=Notes&amp;name=later\">later</a>",
                "record?zone=Notes&amp;name=milk\">milk</a>",
            ] {
                #expect(compared.contains(text), "\(text)")
            }
            // A deleted record has no page.
            #expect(!compared.contains("name=bread"))

            let question = try await stage.page("snapshots/restore?name=Before+%3Cit%3E")
            #expect(question.contains("This brings back 1 record, changes 1 record and deletes 1 record"))
            #expect(question.contains("All change tokens expire: clients drop them, and fetch everything again."))
            #expect(try await stage.values("milk")["title"] == .string("Oat milk"), "a question changes nothing")
            let done = try await stage.end(try await stage.send("snapshots/restore", of: question))
            #expect(done.contains(">done<") && done.contains("2 records saved, 1 record deleted."), "\(done)")
            #expect(done.contains("All change tokens have expired"))
            #expect(try await stage.values("milk")["title"] == .string("Milk"))
            #expect(try await stage.values("bread")["title"] == .string("Bread"))
            #expect(try await stage.page("snapshots/compare?name=Before+%3Cit%3E").contains("Nothing differs."))
            // Restoring it would change nothing, and still expire all tokens.
            let equal = try await stage.page("snapshots/restore?name=Before+%3Cit%3E")
            #expect(
                !equal.contains("Restore it</button>")
                    && equal.contains("There is nothing to restore."))

            let undo = try await stage.page("snapshots/restore?name=Before+restoring+Before+%3Cit%3E")
            _ = try await stage.end(try await stage.send("snapshots/restore", of: undo))
            #expect(try await stage.values("milk")["title"] == .string("Oat milk"))
            let both = try await stage.page(
                "snapshots/compare?name=Before+%3Cit%3E&with=Before+restoring+Before+%3Cit%3E")
            #expect(
                both.contains("1 added")
                    && both.contains("<option value=\"Before restoring Before &lt;it&gt;\" selected>"))
        }
    }

    @Test func theRequestsOfASnapshotAreListed() async throws {
        try await RequestStage.with { stage in
            try await stage.save("milk")
            var refused = stage.request("records/modify", from: "<phone>")
            refused.status = 400
            refused.error = ServedRequest.ItemError(RecordError(.badRequest, "Did not find field"), name: nil)
            stage.note(
                refused, sent: #"{"operations":[{"operationType":"create"}]}"#,
                answered: #"{"serverErrorCode":"BAD_REQUEST"}"#)
            stage.note(stage.request("records/query"))
            #expect(try await stage.post("snapshots/save", "name=Case&requests=1").status == .seeOther)
            #expect(try await stage.post("snapshots/save", "name=Plain").status == .seeOther)
            let list = try await stage.page("snapshots")
            let link = try #require(
                list.firstMatch(
                    of: /<a href="[^"]*\/(snapshots\/requests\?name=Case)" aria-label="2 requests of Case">2<\/a>/)
            ).output.1
            let page = try await stage.page(String(link))
            for part in [
                "records/modify", "records/query", "<span class=\"bad\">400</span> BAD_REQUEST, Did not find field",
                "&lt;phone&gt;", "1.5", "&quot;operationType&quot;: &quot;create&quot;",
            ] {
                #expect(page.contains(part), "\(part)")
            }
            #expect(
                try await stage.page("snapshots/requests?name=Plain").contains("The snapshot ‘Plain’ has no requests"))
        }
    }

    @Test func mistakesAreNamed() async throws {
        try await EditStage.run { stage in
            try await stage.save("milk", ["title": .string("Milk")])
            try await save("One", stage)
            let page = try await stage.page("snapshots")
            for (name, text) in [
                ("  ", "is empty: a snapshot needs a name"), (String(repeating: "x", count: 101), "has at most 100"),
                ("One", "There is a snapshot ‘One’ already"),
            ] {
                let answer = EditStage.text(try await stage.send("snapshots/save", of: page, ["name": name]))
                #expect(answer.contains(text) && answer.contains("value=\"\(name)\""), "\(name)")
            }
            for path in [
                "snapshots/compare?name=None", "snapshots/restore?name=None", "snapshots/delete?name=None",
                "snapshots/compare?name=One&with=None",
            ] {
                #expect(
                    try await stage.page(path, .notFound).contains("There is no snapshot &#39;None&#39;"), "\(path)")
            }
            let refused = EditStage.text(
                try await send(Array("no archive".utf8), to: "\(EditStage.there)/snapshots/import", stage))
            #expect(refused.contains("&#39;a.tar&#39; is a damaged archive: it ends too early"))
            #expect(
                EditStage.text(try await send(Array("no archive".utf8), to: "/snapshots", stage)).contains(
                    "&#39;a.tar&#39; is a damaged archive"))
            let empty = EditStage.text(try await send([], to: "\(EditStage.there)/snapshots/import", stage))
            #expect(empty.contains("choose the file of a snapshot"))
            let question = try await stage.page("snapshots/delete?name=One")
            #expect(
                try await stage.location(stage.send("snapshots/delete", of: question)).hasSuffix(
                    "notice=snapshot-deleted"))
            #expect(try await stage.page("snapshots").contains("No snapshots yet"))
        }
    }

    @Test func aSnapshotIsSharedAsOneFile() async throws {
        try await EditStage.run { stage in
            try await stage.save("milk", ["title": .string("Milk")])
            try await save("Failing case", stage)
            let answer = try await stage.get("snapshots/file?name=Failing+case")
            #expect(
                answer.status == .ok
                    && answer.headers[.contentDisposition]?.contains(/Failing-case-[0-9a-f]{16}\.skylight\.tar/) == true
            )
            let file = Array(answer.body.readableBytesView)
            #expect(file.count % 512 == 0)
            let added = try await send(file, to: "\(EditStage.there)/snapshots/import", stage)
            #expect(try stage.location(added).hasSuffix("notice=snapshot-added"))
            #expect(try await stage.page("snapshots").contains(">Failing case (2)</a>"))
            // The start page opens it in another container, which gets its state.
            #expect(try await stage.page("/").contains("action=\"/snapshots\""))
            let opened = try await stage.end(
                try await send(file, to: "/snapshots", with: [("container", "iCloud.com.example.Copy")], stage))
            #expect(opened.contains(">done<"), "\(opened)")
            let copy = try await stage.page(
                "/c/iCloud.com.example.Copy/development/private/record?zone=Notes&name=milk")
            #expect(copy.contains("Milk"))
            // A container that exists stays as it is.
            try await stage.save("milk", ["title": .string("Changed")])
            #expect(
                try await stage.location(send(file, to: "/snapshots", with: [("container", "")], stage))
                    == "\(EditStage.there)/snapshots?notice=snapshot-added")
            #expect(try await stage.values("milk")["title"] == .string("Changed"))
        }
    }
}
