import HTTPTypes
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import Testing

/// Renaming containers, and deleting them after their name is typed.
@Suite struct ContainerPageTests {
    private func post(_ stage: EditStage, _ path: String, _ form: String) async throws -> TestResponse {
        try await stage.client.execute(uri: path, method: .post, body: ByteBuffer(string: form)) { $0 }
    }

    @Test func aContainerIsDeletedByItsName() async throws {
        try await EditStage.run { stage in
            try await stage.save("note", [:])
            #expect(try await stage.page("/").contains("/container?container=iCloud.com.example.App"))
            let page = try await stage.page("/container?container=iCloud.com.example.App")
            #expect(page.contains("1 record type, 1 record of all users"))
            for typed in ["", "iCloud.com.example.app", "yes"] {
                let refused = try await post(
                    stage, "/containers/delete", "container=iCloud.com.example.App&typed=\(typed)")
                #expect(EditStage.text(refused).contains("Nothing was deleted"))
            }
            #expect(try await stage.engine.require(.listContainers).containers().count == 1)
            let done = try await post(
                stage, "/containers/delete", "container=iCloud.com.example.App&typed=iCloud.com.example.App")
            #expect(try stage.location(done) == "/")
            #expect(try await stage.engine.require(.listContainers).containers().isEmpty)
            #expect(try await stage.get("/container?container=iCloud.com.example.App").status == .notFound)
            #expect(
                try await post(
                    stage, "/containers/delete", "container=iCloud.com.example.App&typed=iCloud.com.example.App"
                ).status == .notFound)
            #expect(try await stage.engine.require(.listContainers).containers().isEmpty, "asking makes none")
        }
    }

    @Test func savedQueriesGoWithTheirContainer() async throws {
        try await EditStage.run { stage in
            let renamed = EditStage.there.replacing("App", with: "Other")
            _ = try await post(stage, "\(EditStage.there)/queries/save", "name=Mine&question=type%3DNote&back=/")
            #expect(try await stage.page("\(EditStage.there)/query?type=Note").contains("Mine</bdi> <small>"))
            _ = try await post(
                stage, "/containers/rename", "container=iCloud.com.example.App&newName=iCloud.com.example.Other")
            #expect(try await stage.page("\(renamed)/query?type=Note").contains("Mine</bdi> <small>"))
            // A name that is taken changes nothing.
            _ = try await stage.database().zones()
            let taken = try await post(
                stage, "/containers/rename", "container=iCloud.com.example.Other&newName=iCloud.com.example.app")
            #expect(EditStage.text(taken).contains("choose another name"))
            #expect(try await stage.page("\(renamed)/query?type=Note").contains("Mine</bdi> <small>"))
            // A container that takes the name of a deleted one does not inherit its saved queries.
            _ = try await post(
                stage, "/containers/delete", "container=iCloud.com.example.App&typed=iCloud.com.example.App")
            _ = try await post(
                stage, "/containers/rename", "container=iCloud.com.example.Other&newName=iCloud.com.example.App")
            #expect(try await stage.page("\(EditStage.there)/query?type=Note").contains("Mine</bdi> <small>"))
            _ = try await post(
                stage, "/containers/delete", "container=iCloud.com.example.App&typed=iCloud.com.example.App")
            try await stage.save("note", [:], in: .default)
            #expect(
                try await stage.page("\(EditStage.there)/query?type=Note").contains(
                    "No query of this container is saved yet"))
        }
    }

    @Test func aContainerIsRenamedWithAllItHolds() async throws {
        try await EditStage.run { stage in
            try await stage.save("note", ["title": .string("kept")])
            for name in ["nonsense", "iCloud."] {
                let refused = try await post(
                    stage, "/containers/rename", "container=iCloud.com.example.App&newName=\(name)")
                #expect(EditStage.text(refused).contains("value=\"\(name)\""))
            }
            let done = try await post(
                stage, "/containers/rename", "container=iCloud.com.example.App&newName=iCloud.com.example.Other")
            #expect(try stage.location(done) == "/")
            #expect(
                try await stage.engine.require(.listContainers).containers().map(\.description) == [
                    "iCloud.com.example.Other"
                ])
            #expect(
                try await stage.page(EditStage.there.replacing("App", with: "Other") + "/record?zone=Notes&name=note")
                    .contains("kept"))
        }
    }
}
