internal import Foundation

/// A generated landscape: rows of hills under a sky with a sun or a moon.
struct DemoLandscape: Sendable {
    private struct Palette {
        let zenith, horizon, disc, far, near: DemoPicture.Color
    }

    private static let palettes = [
        // Dawn, noon, dusk, night.
        Palette(zenith: .init(86, 99, 150), horizon: .init(255, 205, 168), disc: .init(255, 244, 214), far: .init(189, 148, 158), near: .init(48, 44, 70)),
        Palette(zenith: .init(58, 128, 199), horizon: .init(205, 231, 245), disc: .init(255, 252, 232), far: .init(140, 178, 190), near: .init(28, 74, 54)),
        Palette(zenith: .init(44, 26, 82), horizon: .init(247, 121, 82), disc: .init(255, 214, 130), far: .init(150, 66, 94), near: .init(24, 12, 38)),
        Palette(zenith: .init(6, 10, 32), horizon: .init(52, 70, 118), disc: .init(236, 240, 255), far: .init(44, 58, 98), near: .init(4, 8, 20)),
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
        let hills = (0..<Self.layers).map { palette.far.mixed(with: palette.near, Double($0) / Double(Self.layers - 1)) }
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
            return distance < radius ? palette.disc : sky[y].mixed(with: palette.disc, 0.55 * (1 - (distance - radius) / 75))
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
