internal import Foundation
internal import Records

/// A point on the Z-order curve. Latitude and longitude have 31 bits each and are interleaved, so that nearby places
/// mostly have nearby numbers.
struct MortonCell {
    /// The Morton number, which has 62 bits.
    let number: Int64

    init(_ location: Location) {
        number = Self.interleaved(
            latitude: Self.step(location.latitude, from: -90, span: 180),
            longitude: Self.step(location.longitude, from: -180, span: 360))
    }

    static let steps: Int64 = 1 << 31

    /// Index of the step that contains the coordinate, of 2³¹ steps from `lowest` over `span` degrees.
    static func step(_ coordinate: Double, from lowest: Double, span: Double) -> Int64 {
        let step = (coordinate - lowest) / span * Double(steps)
        return step >= Double(steps) ? steps - 1 : step > 0 ? Int64(step) : 0
    }

    static func interleaved(latitude: Int64, longitude: Int64) -> Int64 {
        spread(longitude) | spread(latitude) << 1
    }

    /// Inserts a zero bit before each bit.
    private static func spread(_ bits: Int64) -> Int64 {
        var bits = bits & 0x7FFF_FFFF
        bits = (bits | bits << 16) & 0x0000_FFFF_0000_FFFF
        bits = (bits | bits << 8) & 0x00FF_00FF_00FF_00FF
        bits = (bits | bits << 4) & 0x0F0F_0F0F_0F0F_0F0F
        bits = (bits | bits << 2) & 0x3333_3333_3333_3333
        return (bits | bits << 1) & 0x5555_5555_5555_5555
    }
}

// MARK: - Cover of a circle

/// Ranges of Morton numbers that contain all places within a distance of a center, and some places beyond it.
struct MortonCover {
    /// More ranges approximate the circle better but take longer to query.
    private static let rangeLimit = 32

    let ranges: [ClosedRange<Int64>]

    init(around center: Location, metres: Double) {
        let boxes = Self.boxes(around: center, metres: metres)
        ranges = Self.merged(boxes.flatMap { Self.ranges(of: $0) })
    }

    /// Ranges of steps of latitude and longitude. Both include their bounds.
    private struct Box {
        let latitude: ClosedRange<Int64>
        let longitude: ClosedRange<Int64>
    }

    /// The bounding box of the circle: two boxes if it crosses the date line, all longitudes if it contains a pole.
    private static func boxes(around center: Location, metres: Double) -> [Box] {
        // Slightly enlarged, so that rounding does not lose places on the edge.
        let degrees = min(metres, 3e7) / 111_194.9 * 1.001 + 1e-6
        let south = center.latitude - degrees
        let north = center.latitude + degrees
        let latitude = MortonCell.step(south, from: -90, span: 180)...MortonCell.step(north, from: -90, span: 180)
        let all = Box(latitude: latitude, longitude: 0...(MortonCell.steps - 1))
        guard south > -90, north < 90 else { return [all] }
        // The widest parallel of the circle is poleward of its center.
        let ratio = sin(degrees * .pi / 180) / cos(center.latitude * .pi / 180)
        guard ratio < 1 else { return [all] }
        let width = asin(ratio) * 180 / .pi * 1.001 + 1e-6
        let west = center.longitude - width
        let east = center.longitude + width
        func box(_ west: Double, _ east: Double) -> Box {
            Box(
                latitude: latitude,
                longitude: MortonCell.step(west, from: -180, span: 360)...MortonCell.step(east, from: -180, span: 360))
        }
        if width >= 180 { return [all] }
        if west < -180 { return [box(-180, east), box(west + 360, 180)] }
        if east > 180 { return [box(west, 180), box(-180, east - 360)] }
        return [box(west, east)]
    }

    /// A square of the curve: its south-west corner and the base-2 logarithm of its side.
    private struct Square {
        let latitude: Int64
        let longitude: Int64
        let bits: Int64

        var side: Int64 { 1 << bits }
        var range: ClosedRange<Int64> {
            let first = MortonCell.interleaved(latitude: latitude, longitude: longitude)
            return first...(first + (1 << (2 * bits)) - 1)
        }

        var quarters: [Square] {
            let half = side / 2
            return [(0, 0), (0, half), (half, 0), (half, half)].map {
                Square(latitude: latitude + $0.0, longitude: longitude + $0.1, bits: bits - 1)
            }
        }

        func overlaps(_ box: Box) -> Bool {
            box.latitude.overlaps(latitude...(latitude + side - 1))
                && box.longitude.overlaps(longitude...(longitude + side - 1))
        }

        func isInside(_ box: Box) -> Bool {
            box.latitude.contains(latitude) && box.latitude.contains(latitude + side - 1)
                && box.longitude.contains(longitude)
                && box.longitude.contains(longitude + side - 1)
        }
    }

    /// Splits the largest squares on the edge until the range limit is reached.
    private static func ranges(of box: Box) -> [ClosedRange<Int64>] {
        var inside: [Square] = []
        var rim = [Square(latitude: 0, longitude: 0, bits: 31)]
        while inside.count + rim.count < rangeLimit, let index = rim.indices.max(by: { rim[$0].bits < rim[$1].bits }),
            rim[index].bits > 0
        {
            for quarter in rim.remove(at: index).quarters where quarter.overlaps(box) {
                if quarter.isInside(box) { inside.append(quarter) } else { rim.append(quarter) }
            }
        }
        return (inside + rim).map(\.range)
    }

    private static func merged(_ ranges: [ClosedRange<Int64>]) -> [ClosedRange<Int64>] {
        ranges.sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { merged, range in
            if let last = merged.last, last.upperBound >= range.lowerBound - 1 {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
    }
}
