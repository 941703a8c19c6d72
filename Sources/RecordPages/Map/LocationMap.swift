internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The places of the records on a page of a query, drawn in a grid of coordinates. Places that are close together are one mark with their number.
struct LocationMap: ViewModel {
    struct Spot: ViewModel {
        let x: String
        let y: String
        let radius: String
        /// The number of places; `nil` for a single one.
        let count: String?
        /// The point of the number, below the middle by a third of its height.
        let textY: String
        let tip: String
        let href: String
    }

    struct Line: ViewModel {
        let point: String
        let label: String
    }

    let field: String
    let summary: String
    let label: String
    let meridians: [Line]
    let parallels: [Line]
    let spots: [Spot]
    /// The end of the bar of the scale, which begins at 12.
    let barEnd: String
    /// The middle of the bar, for its label.
    let barLabel: String
    /// The link to the query without the map.
    let without: String

    /// The size of the squares in which places become one mark, in units of the drawing.
    private static let square = 30.0
    /// The number of names in the description of a mark.
    private static let named = 4
}

extension LocationMap {
    /// A place of a record.
    private struct Place {
        let record: StoredRecord
        let location: Location
    }

    /// - Returns: `nil` for a field that has no locations.
    init?(_ records: [StoredRecord], _ field: QueryField, form: QueryForm, visit: Visit) throws {
        guard field.definition.type.valueType == .location else { return nil }
        self.field = field.name.string
        let places = try records.flatMap { record in try Self.locations(field, of: record).map { Place(record: record, location: $0) } }
        let located = Set(places.map(\.record.recordID)).count
        summary = "\(Digits.grouped(located)) of \(Digits.count(records.count, "record")) on this page \(located == 1 ? "has" : "have") a place"
        without = visit.place.link("query", form.drawing(nil).parameters)
        guard let projection = MapProjection(places.map(\.location)) else {
            (meridians, parallels, spots, barEnd, barLabel, label) = ([], [], [], "", "", "")
            return
        }
        func lines(_ lines: [MapProjection.Line]) -> [Line] { lines.map { Line(point: Digits.fixed($0.point, 1), label: $0.label) } }
        meridians = lines(projection.meridians)
        parallels = lines(projection.parallels)
        let bar = projection.bar
        (barEnd, barLabel) = (Digits.fixed(12 + bar.length, 1), bar.label)
        spots = Self.grouped(places, projection).map { Spot($0.map { ($0.record, $0.location) }, projection, field, form: form, named: Self.named, visit: visit) }
        label = "Map of \(field.name): \(Digits.count(places.count, "place")), \(Digits.count(spots.count, "mark"))"
    }

    private static func locations(_ field: QueryField, of record: StoredRecord) throws -> [Location] {
        (try field.value(of: record)?.elements ?? []).compactMap { value in
            guard case .location(let location) = value, location.latitude.isFinite, location.longitude.isFinite else { return nil }
            return location
        }
    }

    /// The places by the square of the drawing that they are in, in the order of the records.
    private static func grouped(_ places: [Place], _ projection: MapProjection) -> [[Place]] {
        struct Square: Hashable {
            let (column, row): (Int, Int)
        }
        var order: [Square] = []
        var groups: [Square: [Place]] = [:]
        for place in places {
            let point = projection.point(place.location)
            let square = Square(column: Int((point.x / Self.square).rounded(.down)), row: Int((point.y / Self.square).rounded(.down)))
            if groups[square] == nil { order.append(square) }
            groups[square, default: []].append(place)
        }
        return order.compactMap { groups[$0] }
    }
}

extension LocationMap.Spot {
    fileprivate init(
        _ places: [(record: StoredRecord, location: Location)], _ projection: MapProjection, _ field: QueryField, form: QueryForm, named: Int, visit: Visit
    ) {
        let points = places.map { projection.point($0.location) }
        let share = 1 / Double(max(1, points.count))
        let middle = (x: points.reduce(0) { $0 + $1.x } * share, y: points.reduce(0) { $0 + $1.y } * share)
        (x, y, textY) = (Digits.fixed(middle.x, 1), Digits.fixed(middle.y, 1), Digits.fixed(middle.y + 4, 1))
        let isOne = places.count == 1
        radius = isOne ? "5.5" : Digits.fixed(min(20, 9 + 1.6 * Double(places.count).squareRoot()), 1)
        count = isOne ? nil : Digits.grouped(places.count)
        var names: [Name] = []
        for place in places where !names.contains(place.record.recordID.recordName) { names.append(place.record.recordID.recordName) }
        let rest = names.count - named
        let first = names.prefix(named).map(\.string).joined(separator: ", ")
        tip = "\(isOne ? "" : "\(Digits.count(places.count, "place")): ")\(first)\(rest > 0 ? " and \(Digits.grouped(rest)) more" : "")"
        if names.count == 1, let only = places.first {
            href = visit.place.link(toRecord: only.record.recordID.recordName, in: only.record.recordID.zoneID)
        } else if let near = form.near(places.map(\.location), field) {
            href = visit.place.link("query", near.parameters)
        } else {
            href = visit.place.link("fetch", [("names", names.map(\.string).joined(separator: "\n"))])
        }
    }
}

extension QueryForm {
    /// The form with the map of a field, or without one.
    func drawing(_ field: Name?) -> QueryForm {
        var form = self
        form.map = field
        return form
    }

    /// The query for the records near some places; `nil` if no index allows it, or if it is this query.
    fileprivate func near(_ places: [Location], _ field: QueryField) -> QueryForm? {
        guard field.comparators.contains(where: { $0.comparator == .near }), field.allows(.near), let first = places.first else { return nil }
        // The first place, because the mean of two places at the date line is on the other side of the world.
        let reach = places.map { first.distance(to: $0) }.max() ?? 0
        let filter = Filter(
            field: field.name, comparator: .near, value: "\(Digits.fixed(first.latitude, 6)), \(Digits.fixed(first.longitude, 6))",
            distance: Digits.fixed(max(20, (reach * 1.1).rounded(.up)), 0))
        let others = filters.filter { $0.field != field.name || $0.comparator != .near }
        let isThis = filters.contains { $0.comparator == .near && Name($0.value) == Name(filter.value) && Name($0.distance) == Name(filter.distance) }
        if isThis || others.count >= Self.rowLimit { return nil }
        return changed { $0.filters = others + [filter] }
    }
}
