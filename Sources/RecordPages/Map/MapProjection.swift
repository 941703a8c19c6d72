internal import Console
internal import Foundation
internal import RecordStore
internal import Records

/// Maps degrees to points of a drawing that holds all of some places: north is up, and distances are true at its middle latitude.
struct MapProjection: Sendable {
    /// The size of the drawing, and the room around the places for marks and labels, in units of the drawing.
    static let (width, height, margin) = (760.0, 300.0, 44.0)
    /// The least extent of a drawing, in degrees of latitude: some hundred metres.
    private static let least = 0.004
    private static let metresPerDegree = Location.earthHalfCircumference / 180
    /// The least distances between two lines of the grid, and the greatest length of the bar of the scale.
    private static let (lineDistance, barLength) = (90.0, 130.0)
    /// The room of a meridian's label, and the points of parallels with a label: below the scale, and above the labels of the meridians.
    private static let (labelWidth, parallelLabels) = (60.0, 44.0...280.0)

    private let middle: (latitude: Double, longitude: Double)
    /// The units of the drawing per degree of latitude, and the share of that for a degree of longitude.
    private let (scale, squeeze): (Double, Double)
    /// The longitude at which the drawing's world begins: it lies in the greatest gap between the places, so places on both sides of the date
    /// line are neighbours.
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
        scale = min((Self.width - 2 * Self.margin) / across, (Self.height - 2 * Self.margin) / max(north - south, Self.least))
    }

    private static func start(_ sorted: [Double]) -> Double {
        guard let first = sorted.first, let last = sorted.last else { return -180 }
        var (start, gap) = (first, first + 360 - last)
        for (left, right) in zip(sorted, sorted.dropFirst()) where right - left > gap { (start, gap) = (right, right - left) }
        return start
    }

    private static func unwrapped(_ longitude: Double, from start: Double) -> Double { longitude < start ? longitude + 360 : longitude }

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
        return lines(from: middle.longitude - reach, to: middle.longitude + reach, perDegree: scale * squeeze).map { degrees, digits in
            let own = degrees > 180 ? degrees - 360 : degrees < -180 ? degrees + 360 : degrees
            let point = x(degrees)
            return Line(point: point, label: point < Self.width - Self.labelWidth ? Self.label(own, digits, "E", "W") : "")
        }
    }

    /// The parallels, from south to north.
    var parallels: [Line] {
        let reach = Self.height / 2 / scale
        return lines(from: max(-90, middle.latitude - reach), to: min(90, middle.latitude + reach), perDegree: scale).map { degrees, digits in
            let point = y(degrees)
            return Line(point: point, label: Self.parallelLabels.contains(point) ? Self.label(degrees, digits, "N", "S") : "")
        }
    }

    private func lines(from first: Double, to last: Double, perDegree: Double) -> [(degrees: Double, digits: Int)] {
        let step = Self.step(atLeast: Self.lineDistance / perDegree)
        let digits = max(0, Int((-log10(step)).rounded(.up)))
        return ((first / step).rounded(.up)...max((first / step).rounded(.up), (last / step).rounded(.down))).strided().map { ($0 * step, digits) }
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
