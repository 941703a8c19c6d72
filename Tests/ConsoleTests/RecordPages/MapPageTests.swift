import RecordStore
import Records
import StoreScenarios
import Testing

@testable import Console
@testable import RecordPages

/// The map of a query's page.
@Suite struct MapPageTests {
    private static func save(_ places: [(String, FieldInput?)], _ stage: RequestStage) async throws {
        let operations = places.map { name, place in
            RecordOperation(
                .forceUpdate, recordName: Name(name), recordType: "Shop",
                fields: place.map { ["place": $0] } ?? ["name": FieldInput(.string("x"))])
        }
        try await stage.database.apply(operations, in: RequestStage.zone)
        _ = try await stage.database.require(.editSchema).edit([
            .addIndexes([.queryable], of: .system(.recordID), in: "Shop")
        ])
    }

    private static func at(_ latitude: Double, _ longitude: Double) -> FieldInput {
        FieldInput(.location(Location(latitude: latitude, longitude: longitude)))
    }

    /// The descriptions and the addresses of the marks.
    private static func marks(_ page: String) -> [(tip: String, href: String)] {
        page.matches(of: #/<a href="([^"]*)" aria-label="([^"]*)"><title>[^<]*</title><circle /#).map {
            (String($0.output.2), String($0.output.1).replacing("&amp;", with: "&"))
        }
    }

    @Test func placesThatAreCloseAreOneMark() async throws {
        try await RequestStage.with { stage in
            try await Self.save(
                [
                    ("paris", Self.at(48.85, 2.35)), ("louvre", Self.at(48.86, 2.34)), ("rome", Self.at(41.9, 12.5)),
                    ("nowhere", nil),
                ], stage)
            let plain = try await stage.page("query?zone=Notes&type=Shop")
            #expect(
                plain.contains(">Map of place</a>") && Self.marks(plain).isEmpty
                    && plain.contains("<select name=\"map\""))
            let page = try await stage.page("query?zone=Notes&type=Shop&map=place")
            #expect(
                page.contains("3 of 4 records on this page have a place")
                    && page.contains("Map of place: 3 places, 2 marks") && !page.contains(">Map of place</a>"))
            let marks = Self.marks(page)
            #expect(
                Set(marks.map(\.tip)) == ["2 places: louvre, paris", "rome"]
                    || Set(marks.map(\.tip)) == ["2 places: paris, louvre", "rome"])
            #expect(marks.first { $0.tip == "rome" }?.href == "\(RequestStage.there)/record?zone=Notes&name=rome")
            // A type that a save made has QUERYABLE on its fields, so the mark narrows the query to its places.
            let near = try #require(marks.first { $0.tip.hasPrefix("2") }?.href)
            #expect(near.contains("is1=NEAR") && near.contains("map=place"))
            let nearer = try await stage.page(String(near.dropFirst(RequestStage.there.utf8.count + 1)))
            #expect(nearer.contains("2 of 2 records on this page have a place") && Self.marks(nearer).count == 2)
        }
    }

    @Test func aFieldWithoutAnIndexLeadsToTheRecords() async throws {
        try await RequestStage.with { stage in
            let list = FieldInput(
                .list(
                    [
                        .location(Location(latitude: 1, longitude: 1)),
                        .location(Location(latitude: 1, longitude: 1.00001)),
                    ], of: .location))
            try await Self.save([("one", list), ("two", nil)], stage)
            let page = try await stage.page("query?zone=Notes&type=Shop&map=place")
            // Both places are of one record.
            #expect(
                Self.marks(page).map(\.href) == ["\(RequestStage.there)/record?zone=Notes&name=one"]
                    && Self.marks(page).first?.tip == "2 places: one")
            #expect(page.contains("1 of 2 records on this page has a place"))
            // A field without locations has no map, and neither has one that does not exist.
            for field in ["name", "nothing"] {
                #expect(
                    try await !stage.page("query?zone=Notes&type=Shop&map=\(field)").contains("aria-label=\"Map of"))
            }
        }
    }

    @Test func placesOnBothSidesOfTheDateLineAreNeighbours() throws {
        let (fiji, samoa) = (Location(latitude: -17, longitude: 179), Location(latitude: -14, longitude: -172))
        let projection = try #require(MapProjection([fiji, samoa]))
        #expect(projection.point(fiji).x < projection.point(samoa).x)
        #expect(projection.bar.label == "200 km")
        #expect(
            projection.meridians.contains { $0.label.hasSuffix("E") }
                && projection.meridians.contains { $0.label.hasSuffix("W") })
        #expect(projection.parallels.allSatisfy { $0.label.hasSuffix("S") })
    }

    @Test(arguments: [
        [(0.0, 0.0)], [(90, 0), (-90, 180)], [(51.5, -0.1), (51.5, -0.1)],
        [(-33.9, 151.2), (64.1, -21.9), (35.7, 139.7)], [(0, -180), (0, 180)],
    ])
    func everyPlaceIsOnTheMap(places: [(Double, Double)]) throws {
        let locations = places.map { Location(latitude: $0.0, longitude: $0.1) }
        let projection = try #require(MapProjection(locations))
        for location in locations {
            let point = projection.point(location)
            #expect((0...MapProjection.width).contains(point.x) && (0...MapProjection.height).contains(point.y))
        }
        #expect((1...12).contains(projection.meridians.count) && projection.parallels.count <= 5)
        #expect((10...130.5).contains(projection.bar.length) && projection.bar.label.hasSuffix("m"))
        #expect(MapProjection([]) == nil)
    }
}
