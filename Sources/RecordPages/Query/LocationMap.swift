internal import Console
internal import Foundation
internal import RecordStore
internal import Records

/// The places of the records on a page of a query, drawn in a grid of coordinates. Places that are close together are
/// one mark with their number.
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
        let places = try records.flatMap { record in
            try Self.locations(field, of: record).map { Place(record: record, location: $0) }
        }
        let located = Set(places.map(\.record.recordID)).count
        summary =
            "\(Digits.grouped(located)) of \(Digits.count(records.count, "record")) on this page \(located == 1 ? "has" : "have") a place"
        without = visit.place.link("query", form.drawing(nil).parameters)
        guard let projection = MapProjection(places.map(\.location)) else {
            (meridians, parallels, spots, barEnd, barLabel, label) = ([], [], [], "", "", "")
            return
        }
        func lines(_ lines: [MapProjection.Line]) -> [Line] {
            lines.map { Line(point: Digits.fixed($0.point, 1), label: $0.label) }
        }
        meridians = lines(projection.meridians)
        parallels = lines(projection.parallels)
        let bar = projection.bar
        (barEnd, barLabel) = (Digits.fixed(12 + bar.length, 1), bar.label)
        spots = Self.grouped(places, projection).map {
            Spot($0.map { ($0.record, $0.location) }, projection, field, form: form, named: Self.named, visit: visit)
        }
        label = "Map of \(field.name): \(Digits.count(places.count, "place")), \(Digits.count(spots.count, "mark"))"
    }

    private static func locations(_ field: QueryField, of record: StoredRecord) throws -> [Location] {
        (try field.value(of: record)?.elements ?? []).compactMap { value in
            guard case .location(let location) = value, location.latitude.isFinite, location.longitude.isFinite else {
                return nil
            }
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
            let square = Square(
                column: Int((point.x / Self.square).rounded(.down)), row: Int((point.y / Self.square).rounded(.down)))
            if groups[square] == nil { order.append(square) }
            groups[square, default: []].append(place)
        }
        return order.compactMap { groups[$0] }
    }
}

extension LocationMap.Spot {
    fileprivate init(
        _ places: [(record: StoredRecord, location: Location)], _ projection: MapProjection, _ field: QueryField,
        form: QueryForm, named: Int, visit: Visit
    ) {
        let points = places.map { projection.point($0.location) }
        let share = 1 / Double(max(1, points.count))
        let middle = (x: points.reduce(0) { $0 + $1.x } * share, y: points.reduce(0) { $0 + $1.y } * share)
        (x, y, textY) = (Digits.fixed(middle.x, 1), Digits.fixed(middle.y, 1), Digits.fixed(middle.y + 4, 1))
        let isOne = places.count == 1
        radius = isOne ? "5.5" : Digits.fixed(min(20, 9 + 1.6 * Double(places.count).squareRoot()), 1)
        count = isOne ? nil : Digits.grouped(places.count)
        var names: [Name] = []
        for place in places where !names.contains(place.record.recordID.recordName) {
            names.append(place.record.recordID.recordName)
        }
        let rest = names.count - named
        let first = names.prefix(named).map(\.string).joined(separator: ", ")
        tip =
            "\(isOne ? "" : "\(Digits.count(places.count, "place")): ")\(first)\(rest > 0 ? " and \(Digits.grouped(rest)) more" : "")"
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
        guard field.comparators.contains(where: { $0.comparator == .near }), field.allows(.near),
            let first = places.first
        else { return nil }
        // The first place, because the mean of two places at the date line is on the other side of the world.
        let reach = places.map { first.distance(to: $0) }.max() ?? 0
        let filter = Filter(
            field: field.name, comparator: .near,
            value: "\(Digits.fixed(first.latitude, 6)), \(Digits.fixed(first.longitude, 6))",
            distance: Digits.fixed(max(20, (reach * 1.1).rounded(.up)), 0))
        let others = filters.filter { $0.field != field.name || $0.comparator != .near }
        let isThis = filters.contains {
            $0.comparator == .near && Name($0.value) == Name(filter.value) && Name($0.distance) == Name(filter.distance)
        }
        if isThis || others.count >= Self.rowLimit { return nil }
        return changed { $0.filters = others + [filter] }
    }
}

// MARK: - Projection

/// Maps degrees to points of a drawing that holds all of some places: north is up, and distances are true at its middle
/// latitude.
struct MapProjection: Sendable {
    /// The size of the drawing, and the room around the places for marks and labels, in units of the drawing.
    static let (width, height, margin) = (760.0, 300.0, 44.0)
    /// The least extent of a drawing, in degrees of latitude: some hundred metres.
    private static let least = 0.004
    private static let metresPerDegree = Location.earthHalfCircumference / 180
    /// The least distances between two lines of the grid, and the greatest length of the bar of the scale.
    private static let (lineDistance, barLength) = (90.0, 130.0)
    /// The room of a meridian's label, and the points of parallels with a label: below the scale, and above the labels
    /// of the meridians.
    private static let (labelWidth, parallelLabels) = (60.0, 44.0...280.0)

    private let middle: (latitude: Double, longitude: Double)
    /// The units of the drawing per degree of latitude, and the share of that for a degree of longitude.
    private let (scale, squeeze): (Double, Double)
    /// The longitude at which the drawing's world begins: it lies in the greatest gap between the places, so places on
    /// both sides of the date line are neighbours.
    private let start: Double

    /// - Returns: `nil` without places.
    init?(_ places: [Location]) {
        let latitudes = places.map(\.latitude)
        guard let south = latitudes.min(), let north = latitudes.max() else { return nil }
        let start = Self.start(places.map(\.longitude).sorted())
        self.start = start
        let longitudes = places.map { Self.unwrapped($0.longitude, from: start) }
        guard let west = longitudes.min(), let east = longitudes.max() else { return nil }
        middle = ((south + north) / 2, (west + east) / 2)
        squeeze = max(0.05, cos(middle.latitude * .pi / 180))
        let across = max((east - west) * squeeze, Self.least)
        scale = min(
            (Self.width - 2 * Self.margin) / across, (Self.height - 2 * Self.margin) / max(north - south, Self.least))
    }

    private static func start(_ sorted: [Double]) -> Double {
        guard let first = sorted.first, let last = sorted.last else { return -180 }
        var (start, gap) = (first, first + 360 - last)
        for (left, right) in zip(sorted, sorted.dropFirst()) where right - left > gap {
            (start, gap) = (right, right - left)
        }
        return start
    }

    private static func unwrapped(_ longitude: Double, from start: Double) -> Double {
        longitude < start ? longitude + 360 : longitude
    }

    func point(_ place: Location) -> (x: Double, y: Double) {
        (x(Self.unwrapped(place.longitude, from: start)), y(place.latitude))
    }

    private func x(_ longitude: Double) -> Double { Self.width / 2 + (longitude - middle.longitude) * squeeze * scale }
    private func y(_ latitude: Double) -> Double { Self.height / 2 - (latitude - middle.latitude) * scale }

    // MARK: Grid and scale

    /// A line of the grid, by its point on the other axis.
    struct Line: Sendable {
        let point: Double
        /// Empty where the label would be cut, or cover the scale or another label.
        let label: String
    }

    /// The meridians, from west to east.
    var meridians: [Line] {
        let reach = Self.width / 2 / (scale * squeeze)
        return lines(from: middle.longitude - reach, to: middle.longitude + reach, perDegree: scale * squeeze).map {
            degrees, digits in
            let own = degrees > 180 ? degrees - 360 : degrees < -180 ? degrees + 360 : degrees
            let point = x(degrees)
            return Line(
                point: point, label: point < Self.width - Self.labelWidth ? Self.label(own, digits, "E", "W") : "")
        }
    }

    /// The parallels, from south to north.
    var parallels: [Line] {
        let reach = Self.height / 2 / scale
        return lines(from: max(-90, middle.latitude - reach), to: min(90, middle.latitude + reach), perDegree: scale)
            .map { degrees, digits in
                let point = y(degrees)
                return Line(
                    point: point,
                    label: Self.parallelLabels.contains(point) ? Self.label(degrees, digits, "N", "S") : "")
            }
    }

    private func lines(from first: Double, to last: Double, perDegree: Double) -> [(degrees: Double, digits: Int)] {
        let step = Self.step(atLeast: Self.lineDistance / perDegree)
        let digits = max(0, Int((-log10(step)).rounded(.up)))
        return ((first / step).rounded(.up)...max((first / step).rounded(.up), (last / step).rounded(.down))).strided()
            .map { ($0 * step, digits) }
    }

    /// The next number of the kind 1, 2, 5, 10; of degrees also 15, 30 and 45.
    private static func step(atLeast least: Double) -> Double {
        if least > 10 { return [15, 30, 45].first { $0 >= least } ?? 90 }
        let power = pow(10, log10(least).rounded(.down))
        return ([1, 2, 5].first { $0 * power >= least } ?? 10) * power
    }

    private static func label(_ degrees: Double, _ digits: Int, _ positive: String, _ negative: String) -> String {
        let text = "\(Digits.fixed(abs(degrees), digits))°"
        return abs(degrees) < 1e-9 || abs(degrees) == 180 ? text : "\(text) \(degrees > 0 ? positive : negative)"
    }

    /// The bar of the scale: its length in the drawing, and in words.
    var bar: (length: Double, label: String) {
        let most = Self.barLength / scale * Self.metresPerDegree
        let power = pow(10, log10(most).rounded(.down))
        let metres = ([5, 2].first { $0 * power <= most } ?? 1) * power
        let label = metres >= 1000 ? "\(Digits.grouped(Int(metres / 1000))) km" : "\(Digits.grouped(Int(metres))) m"
        return (metres / Self.metresPerDegree * scale, label)
    }
}

extension ClosedRange<Double> {
    /// The numbers from the lower bound in steps of 1.
    fileprivate func strided() -> [Double] { Array(stride(from: lowerBound, through: upperBound, by: 1)) }
}
