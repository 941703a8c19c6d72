import RecordStore
import Records
import StoreScenarios
import Testing

/// Assets on the pages: their links, properties and uploads.
@Suite struct AssetPageTests {
    @Test func queryAndFetchLinkToTheFile() async throws {
        try await EditStage.run { stage in
            let asset = try await stage.upload("hello", named: "greeting.txt", to: "one", "file")
            try await stage.save("one", ["file": .asset(asset), "title": .string("x")])
            let fetched = try await stage.page("fetch?zone=Notes&names=one")
            #expect(
                fetched.contains(
                    /<a href="\/assets\/iCloud\.com\.example\.App\/development\/download\/[^"\/]+\/greeting\.txt" download="greeting\.txt">greeting\.txt<\/a> <span class="faint">5 bytes<\/span>/
                ))
            #expect(!fetched.contains("data-fetching"))
            let feed = try await stage.page("record?zone=Notes&name=one")
            #expect(feed.contains("\(asset.fileChecksum)</code>"))
            #expect(feed.contains("only this field"))
        }
    }

    @Test func eachRecordHasItsLineAndEachOfSeveralFilesToo() async throws {
        try await EditStage.run { stage in
            let one = try await stage.upload("hello", named: "greeting.txt", to: "one", "file")
            try await stage.save("one", ["file": .asset(one)])
            let parts = [
                try await stage.upload("first", named: "1.txt", to: "many", "files"),
                try await stage.upload("second!", named: "2.txt", to: "many", "files"),
            ]
            try await stage.save("many", ["files": .list(parts.map { .asset($0) }, of: .asset)])
            try await stage.save("none", ["title": .string("x")])
            let page = try await stage.page("fetch?zone=Notes&assets=with&names=one%0Amany%0Anone%0Anobody")
            #expect(page.matches(of: /<tbody role="rowgroup" data-record="/).count == 3)
            #expect(page.matches(of: /data-file="/).count == 3)
            #expect(page.contains("data-group>") && page.contains("2 assets of many"))
            #expect(page.contains("data-checksum=\"\(one.fileChecksum)\""))
            #expect(page.contains("no assets") && page.contains("NOT_FOUND"))
            #expect(page.contains("3 assets, 17 bytes"))
            let system = try await stage.page("fetch?zone=Notes&assets=with&return=system&names=one")
            #expect(system.contains("not requested") && !system.contains("data-file="))
        }
    }

    @Test func theRecordOffersEveryAssetFieldEvenEmptyOnes() async throws {
        try await EditStage.run { stage in
            let asset = try await stage.upload("same", named: nil, to: "one", "file")
            try await stage.save("one", ["file": .asset(asset)])
            let again = try await stage.upload("same", named: "again.txt", to: "two", "files")
            try await stage.save("two", ["files": .list([.asset(again)], of: .asset)])
            let page = try await stage.page("record?zone=Notes&name=one")
            #expect(page.contains("data-field=\"file\"") && page.contains("data-field=\"files\" data-list"))
            #expect(page.contains("No files."))
            // Without a file name, the field's name is used.
            #expect(page.contains("download=\"file\">file</a>"))
            #expect(page.contains("2 fields, stored once"))
            #expect(page.contains(/href="[^"]*record\?zone=Notes&amp;name=two"/))
            #expect(page.contains("up to 50 MB"))
            #expect(page.contains("fetch?zone=Notes&amp;names=one&amp;assets=with\">Open in Fetch</a>"))
            try await stage.save("three", ["title": .string("x")])
            let bare = try await stage.page("record?zone=Notes&name=three")
            #expect(bare.contains("data-assets") && !bare.contains("Open in Fetch"))
        }
    }

    @Test func aTypeWithoutAssetsSaysNothingOfThem() async throws {
        try await EditStage.run { stage in
            try await stage.database().save(
                "room", as: .create, type: "Room", in: EditStage.notes, ["title": .string("x")])
            #expect(!(try await stage.page("record?zone=Notes&name=room").contains("data-assets")))
        }
    }

    @Test(arguments: [
        "\"><script>alert(1)</script>.html", "a\r\nb\u{202E}gpj.exe", "../../etc/passwd", "'\"\u{301}<i>", "",
    ])
    func namesOfFilesAreShownAndNeverInterpreted(name: String) async throws {
        try await EditStage.run { stage in
            let asset = try await stage.upload("<script>alert(1)</script>", named: name, to: "one", "file")
            try await stage.save("one", ["file": .asset(asset)])
            for path in [
                "fetch?zone=Notes&names=one", "fetch?zone=Notes&assets=with&names=one", "record?zone=Notes&name=one",
            ] {
                let page = try await stage.page(path)
                #expect(!page.contains("<script>alert") && !page.contains("\u{202E}") && !page.contains("<i>"))
                for match in page.matches(of: /download="([^"]*)"/) {
                    #expect(!match.output.1.contains("/") && !match.output.1.contains("<") && !match.output.1.isEmpty)
                }
            }
        }
    }
}
