internal import CZlib
internal import Foundation
internal import Records

/// A generated bitmap.
struct DemoPicture: Sendable {
    struct Color: Sendable {
        let red, green, blue: UInt8

        init(_ red: UInt8, _ green: UInt8, _ blue: UInt8) {
            (self.red, self.green, self.blue) = (red, green, blue)
        }

        /// - Parameter part: the share of the other color, from 0 to 1.
        func mixed(with other: Color, _ part: Double) -> Color {
            let part = min(1, max(0, part))
            func mix(_ one: UInt8, _ two: UInt8) -> UInt8 {
                UInt8((Double(one) * (1 - part) + Double(two) * part).rounded())
            }
            return Color(mix(red, other.red), mix(green, other.green), mix(blue, other.blue))
        }
    }

    let width: Int
    let height: Int
    /// Red, green and blue of each pixel, row by row.
    private let samples: [UInt8]

    /// - Parameter color: returns the color at x and y, counted from the upper left corner.
    init(width: Int, height: Int, color: (_ x: Int, _ y: Int) -> Color) {
        self.width = width
        self.height = height
        samples = [UInt8](unsafeUninitializedCapacity: width * height * 3) { buffer, count in
            var place = 0
            for y in 0..<height {
                for x in 0..<width {
                    let color = color(x, y)
                    buffer[place] = color.red
                    buffer[place + 1] = color.green
                    buffer[place + 2] = color.blue
                    place += 3
                }
            }
            count = place
        }
    }

    /// The picture in PNG format (W3C, "Portable Network Graphics (PNG) Specification").
    var png: [UInt8] {
        var header = Self.bytes(UInt32(width)) + Self.bytes(UInt32(height))
        // 8 bits per sample, RGB, the standard compression and filter methods, not interlaced.
        header += [8, 2, 0, 0, 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + Self.chunk("IHDR", header) + Self.chunk("IDAT", Self.compressed(filtered)) + Self.chunk("IEND", [])
    }

    /// The rows, each as the difference from the row above, which compresses well.
    private var filtered: [UInt8] {
        let length = width * 3
        return [UInt8](unsafeUninitializedCapacity: height * (length + 1)) { buffer, count in
            samples.withUnsafeBufferPointer { samples in
                var (place, source) = (0, 0)
                for y in 0..<height {
                    buffer[place] = 2
                    place += 1
                    for _ in 0..<length {
                        buffer[place] = y == 0 ? samples[source] : samples[source] &- samples[source - length]
                        place += 1
                        source += 1
                    }
                }
                count = place
            }
        }
    }

    private static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        let bound = compressBound(uLong(bytes.count))
        return [UInt8](unsafeUninitializedCapacity: Int(bound)) { buffer, count in
            var length = bound
            let code = compress2(buffer.baseAddress, &length, bytes, uLong(bytes.count), 6)
            // This fails only if memory is exhausted. An empty picture is better than an error then.
            count = code == Z_OK ? Int(length) : 0
        }
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let checked = Array(type.utf8) + content
        let checksum = crc32(0, checked, uInt(checked.count))
        return bytes(UInt32(content.count)) + checked + bytes(UInt32(truncatingIfNeeded: checksum))
    }

    private static func bytes(_ integer: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: integer >> UInt32($0)) }
    }
}

// MARK: - Landscapes

/// A generated landscape: rows of hills under a sky with a sun or a moon.
struct DemoLandscape: Sendable {
    private struct Palette {
        let zenith, horizon, disc, far, near: DemoPicture.Color
    }

    private static let palettes = [
        // Dawn, noon, dusk, night.
        Palette(
            zenith: .init(86, 99, 150), horizon: .init(255, 205, 168), disc: .init(255, 244, 214),
            far: .init(189, 148, 158), near: .init(48, 44, 70)),
        Palette(
            zenith: .init(58, 128, 199), horizon: .init(205, 231, 245), disc: .init(255, 252, 232),
            far: .init(140, 178, 190), near: .init(28, 74, 54)),
        Palette(
            zenith: .init(44, 26, 82), horizon: .init(247, 121, 82), disc: .init(255, 214, 130),
            far: .init(150, 66, 94), near: .init(24, 12, 38)),
        Palette(
            zenith: .init(6, 10, 32), horizon: .init(52, 70, 118), disc: .init(236, 240, 255), far: .init(44, 58, 98),
            near: .init(4, 8, 20)),
    ]

    private static let (width, height) = (480, 270)
    private static let layers = 5

    let seed: UInt64

    var picture: DemoPicture {
        let (width, height) = (Self.width, Self.height)
        var random = DemoRandom(seed: seed)
        let palette = Self.palettes[Int(seed % UInt64(Self.palettes.count))]
        let ridges = (0..<Self.layers).map { Self.ridge(of: $0, &random) }
        let sky = (0..<height).map { palette.zenith.mixed(with: palette.horizon, Double($0) / (Double(height) * 0.6)) }
        let hills = (0..<Self.layers).map {
            palette.far.mixed(with: palette.near, Double($0) / Double(Self.layers - 1))
        }
        let (sunX, sunY) = (random.number(in: width / 5...width * 4 / 5), random.number(in: height / 8...height / 3))
        let radius = 15.0
        return DemoPicture(width: width, height: height) { x, y in
            var layer = Self.layers - 1
            while layer >= 0 {
                if y >= ridges[layer][x] { return hills[layer] }
                layer -= 1
            }
            let (across, down) = (x - sunX, y - sunY)
            let square = across * across + down * down
            if square > 8100 { return sky[y] }
            let distance = Double(square).squareRoot()
            return distance < radius
                ? palette.disc : sky[y].mixed(with: palette.disc, 0.55 * (1 - (distance - radius) / 75))
        }
    }

    /// The top of a row of hills, for each column.
    private static func ridge(of layer: Int, _ random: inout DemoRandom) -> [Int] {
        // With the types written out, the compiler needs milliseconds here, and seconds without.
        let waves = (1...4).map { octave -> (frequency: Double, phase: Double, height: Double) in
            let square = Double(octave * octave)
            return (frequency: square * (0.5 + random.fraction()), phase: random.fraction(), height: 1 / square)
        }
        let base = 0.44 + 0.12 * Double(layer)
        return (0..<width).map { x in
            let place = Double(x) / Double(width)
            var sum = 0.0
            for wave in waves {
                let angle: Double = 2 * .pi * (wave.frequency * place + wave.phase)
                sum += sin(angle) * wave.height
            }
            return Int((base + sum * 0.06) * Double(height))
        }
    }
}

// MARK: - Portraits

/// An abstract portrait: a symmetric pattern of blocks that depends on the name.
struct DemoPortrait: Sendable {
    private static let blocks = 5
    private static let block = 28
    private static let margin = 14

    let seed: UInt64

    init(of name: String) {
        seed = FNV1a(name.utf8).value
    }

    var picture: DemoPicture {
        var random = DemoRandom(seed: seed)
        let shades = (0..<3).map { _ in UInt8(random.number(in: 60...190)) }
        let color = DemoPicture.Color(shades[0], shades[1], shades[2])
        let ground = color.mixed(with: .init(255, 255, 255), 0.85)
        let halfRows = (0..<Self.blocks).map { _ in (0...Self.blocks / 2).map { _ in random.isTrue(oneIn: 2) } }
        let side = Self.blocks * Self.block + 2 * Self.margin
        return DemoPicture(width: side, height: side) { x, y in
            let (column, row) = ((x - Self.margin) / Self.block, (y - Self.margin) / Self.block)
            guard x >= Self.margin, y >= Self.margin, column < Self.blocks, row < Self.blocks else { return ground }
            return halfRows[row][min(column, Self.blocks - 1 - column)] ? color : ground
        }
    }
}

// MARK: - Patterns

/// Randomly rotated tiles with arcs that connect to paths (after Sébastien Truchet, 1704).
struct DemoPattern: Sendable {
    private static let tile = 30
    private static let tiles = 8

    let seed: UInt64

    var picture: DemoPicture {
        var random = DemoRandom(seed: seed)
        let color = DemoPicture.Color(
            UInt8(random.number(in: 20...120)), UInt8(random.number(in: 60...160)), UInt8(random.number(in: 90...200)))
        let ground = color.mixed(with: .init(250, 245, 230), 0.9)
        let isTurned = (0..<Self.tiles * Self.tiles).map { _ in random.isTrue(oneIn: 2) }
        let side = Self.tile * Self.tiles
        return DemoPicture(width: side, height: side) { x, y in
            let (column, row) = (x / Self.tile, y / Self.tile)
            let across = isTurned[row * Self.tiles + column] ? Self.tile - 1 - x % Self.tile : x % Self.tile
            let down = y % Self.tile
            let (farAcross, farDown) = (Self.tile - 1 - across, Self.tile - 1 - down)
            let nearest = min(across * across + down * down, farAcross * farAcross + farDown * farDown)
            // True for a distance between 10 and 19 pixels from one of the two corners.
            return (100...361).contains(nearest) ? color : ground
        }
    }
}
