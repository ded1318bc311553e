// Where landmarks are on the mean head, left side: {left, right, chart, a, b, weight}, see head_landmarks.c. Read off
// our own head by what each index is known to mark; some were then moved by 1 to 2 mm to where a tracker sees them on
// people in photographs that the head was fitted to.
#ifndef FAI_HEAD_LANDMARK_PLACES_H
#define FAI_HEAD_LANDMARK_PLACES_H

// how much a landmark says: on soft borders, on skin without marks, on a silhouette, on an eye that looks around
#define SOFT 0.5f
#define VAGUE 0.2f
#define SLIDES 0.1f
#define GAZES 0.05f

// clang-format off
static const Place places_68[] = {
    // the line of the jaw from the ear to the chin slides
    {16, 0, SIDE, 6, 22, SLIDES}, {15, 1, SIDE, 7, 3, SLIDES}, {14, 2, SIDE, 9, -15, SLIDES},
    {13, 3, SIDE, 13, -33, SLIDES}, {12, 4, SIDE, 19, -50, SLIDES}, {11, 5, SIDE, 34, -61, SLIDES},
    {10, 6, FRONT, 42, -71.5f, SLIDES}, {9, 7, FRONT, 22, -82, SLIDES}, {8, -1, FRONT, 0, -86.5f, SLIDES},
    // brows, from the nose outwards
    {22, 21, FRONT, 13.5f, 48, SOFT}, {23, 20, FRONT, 24, 51, SOFT}, {24, 19, FRONT, 35, 52, SOFT},
    {25, 18, FRONT, 46, 49.5f, SOFT}, {26, 17, FRONT, 56, 43, SOFT},
    // nose: back and tip, then the base between the wings
    {27, -1, FRONT, 0, 30, 1}, {28, -1, FRONT, 0, 18.5f, 1}, {29, -1, FRONT, 0, 6.5f, 1}, {30, -1, FRONT, 0, -6, 1},
    {33, -1, FRONT, 0, -20.5f, 1}, {34, 32, FRONT, 6.5f, -19.6f, 1}, {35, 31, FRONT, 14, -18.2f, 1},
    // lids: corners and edges
    {42, 39, LID, 180, 2.5f, 1}, {43, 38, LID, 120, 2.5f, 1}, {44, 37, LID, 60, 2.5f, 1}, {45, 36, LID, 0, 2.5f, 1},
    {46, 41, LID, -50, 2.5f, 1}, {47, 40, LID, -138, 2.5f, 1},
    // lips: red border from the corner over the upper and back over the lower lip, then the edges that part
    {54, 48, LIP, 4, 2, 1}, {53, 49, LIP, 2.4f, 2, 1}, {52, 50, LIP, 0.95f, 2, 1}, {51, -1, LIP, 0, 2, 1},
    {55, 59, LIP, 5.2f, 2, 1}, {56, 58, LIP, 6.6f, 2, 1}, {57, -1, LIP, 8, 2, 1}, {64, 60, LIP, 4, 3.7f, 1},
    {63, 61, LIP, 1.3f, 3.7f, 1}, {62, -1, LIP, 0, 3.7f, 1}, {65, 67, LIP, 6.7f, 3.7f, 1}, {66, -1, LIP, 8, 3.7f, 1},
};

static const Place places_468[] = {
    // lips: red border, two rings of the red, the edges that part
    {0, -1, LIP, 0, 2, 1}, {267, 37, LIP, 0.95f, 2, 1}, {269, 39, LIP, 1.9f, 2, 1}, {270, 40, LIP, 2.7f, 2, 1},
    {409, 185, LIP, 3.4f, 2, 1}, {291, 61, LIP, 4, 2, 1}, {375, 146, LIP, 4.6f, 2, 1}, {321, 91, LIP, 5.3f, 2, 1},
    {405, 181, LIP, 6.1f, 2, 1}, {314, 84, LIP, 7.05f, 2, 1}, {17, -1, LIP, 8, 2, 1},
    {11, -1, LIP, 0, 2.6f, SOFT}, {302, 72, LIP, 0.95f, 2.6f, SOFT}, {303, 73, LIP, 1.9f, 2.6f, SOFT},
    {304, 74, LIP, 2.7f, 2.6f, SOFT}, {408, 184, LIP, 3.4f, 2.6f, SOFT}, {306, 76, LIP, 4, 2.6f, SOFT},
    {307, 77, LIP, 4.6f, 2.6f, SOFT}, {320, 90, LIP, 5.3f, 2.6f, SOFT}, {404, 180, LIP, 6.1f, 2.6f, SOFT},
    {315, 85, LIP, 7.05f, 2.6f, SOFT}, {16, -1, LIP, 8, 2.6f, SOFT},
    {12, -1, LIP, 0, 3.2f, SOFT}, {268, 38, LIP, 0.95f, 3.2f, SOFT}, {271, 41, LIP, 1.9f, 3.2f, SOFT},
    {272, 42, LIP, 2.7f, 3.2f, SOFT}, {407, 183, LIP, 3.4f, 3.2f, SOFT}, {292, 62, LIP, 4, 3.2f, SOFT},
    {325, 96, LIP, 4.6f, 3.2f, SOFT}, {319, 89, LIP, 5.3f, 3.2f, SOFT}, {403, 179, LIP, 6.1f, 3.2f, SOFT},
    {316, 86, LIP, 7.05f, 3.2f, SOFT}, {15, -1, LIP, 8, 3.2f, SOFT},
    {13, -1, LIP, 0, 3.7f, 1}, {312, 82, LIP, 0.95f, 3.7f, 1}, {311, 81, LIP, 1.9f, 3.7f, 1},
    {310, 80, LIP, 2.6f, 3.7f, 1}, {415, 191, LIP, 3.2f, 3.7f, 1}, {308, 78, LIP, 4, 3.7f, 1},
    {324, 95, LIP, 4.8f, 3.7f, 1}, {318, 88, LIP, 5.4f, 3.7f, 1}, {402, 178, LIP, 6.1f, 3.7f, 1},
    {317, 87, LIP, 7.05f, 3.7f, 1}, {14, -1, LIP, 8, 3.7f, 1},
    // around the lips: philtrum to the furrow above the chin
    {164, -1, LIP, 0, 0.8f, SOFT}, {393, 167, LIP, 1.1f, 0.8f, SOFT}, {391, 165, LIP, 2.5f, 0.8f, SOFT},
    {322, 92, LIP, 3.05f, 0.8f, SOFT}, {410, 186, LIP, 3.5f, 0.8f, SOFT}, {287, 57, LIP, 4, 0.8f, SOFT},
    {273, 43, LIP, 4.6f, 0.8f, SOFT}, {335, 106, LIP, 5.3f, 0.8f, SOFT}, {406, 182, LIP, 6.1f, 0.8f, SOFT},
    {313, 83, LIP, 7.05f, 0.8f, SOFT}, {18, -1, LIP, 8, 0.8f, SOFT},
    // lids: edges and corners, crease, below the lashes, under the brow, the lower rim of the orbit
    {263, 33, LID, 0, 2.5f, 1}, {466, 246, LID, 31, 2.5f, 1}, {388, 161, LID, 46, 2.5f, 1},
    {387, 160, LID, 64, 2.5f, 1}, {386, 159, LID, 89, 2.5f, 1}, {385, 158, LID, 112, 2.5f, 1},
    {384, 157, LID, 135, 2.5f, 1}, {398, 173, LID, 160, 2.5f, 1}, {362, 133, LID, 180, 2.5f, 1},
    {249, 7, LID, -18, 2.5f, 1}, {390, 163, LID, -36, 2.5f, 1}, {373, 144, LID, -56, 2.5f, 1},
    {374, 145, LID, -90, 2.5f, 1}, {380, 153, LID, -134, 2.5f, 1}, {381, 154, LID, -162, 2.5f, 1},
    {382, 155, LID, -172, 2.5f, 1},
    {467, 247, LID, 25, 1.15f, SOFT}, {260, 30, LID, 48, 1.15f, SOFT}, {259, 29, LID, 67, 1.15f, SOFT},
    {257, 27, LID, 84, 1.15f, SOFT}, {258, 28, LID, 102, 1.15f, SOFT}, {286, 56, LID, 122, 1.15f, SOFT},
    {414, 190, LID, 158, 1.15f, SOFT}, {359, 130, LID, 0, 1.5f, SOFT}, {255, 25, LID, -25, 1.5f, SOFT},
    {339, 110, LID, -45, 1.5f, SOFT}, {254, 24, LID, -66, 1.5f, SOFT}, {253, 23, LID, -90, 1.5f, SOFT},
    {252, 22, LID, -118, 1.5f, SOFT}, {256, 26, LID, -144, 1.5f, SOFT}, {341, 112, LID, -164, 1.5f, SOFT},
    {463, 243, LID, 180, 1.5f, SOFT},
    {342, 113, LID, 24, 0.6f, VAGUE}, {445, 225, LID, 44, 0.4f, VAGUE}, {444, 224, LID, 66, 0.6f, VAGUE},
    {443, 223, LID, 82, 0.6f, VAGUE}, {442, 222, LID, 101, 0.6f, VAGUE}, {441, 221, LID, 128, 0.45f, VAGUE},
    {413, 189, LID, 154, 0.6f, VAGUE}, {446, 226, LID, -3, 0.6f, VAGUE}, {261, 31, LID, -27, 0.45f, VAGUE},
    {448, 228, LID, -45, 0.45f, VAGUE}, {449, 229, LID, -66, 0.6f, VAGUE}, {450, 230, LID, -88, 0.65f, VAGUE},
    {451, 231, LID, -109, 0.8f, VAGUE}, {452, 232, LID, -133, 0.8f, VAGUE}, {453, 233, LID, -160, 0.65f, VAGUE},
    {464, 244, LID, 184, 0.7f, VAGUE},
    {372, 143, FRONT, 63, 20, VAGUE}, {340, 111, FRONT, 57, 13, VAGUE}, {346, 117, FRONT, 52, 9, VAGUE},
    {347, 118, FRONT, 44, 8, VAGUE}, {348, 119, FRONT, 33, 8.5f, VAGUE}, {349, 120, FRONT, 25, 11.5f, VAGUE},
    {350, 121, FRONT, 19, 15, VAGUE}, {357, 128, FRONT, 14.5f, 18.5f, VAGUE}, {465, 245, FRONT, 10.5f, 23.5f, VAGUE},
    // brows: lower and upper edge of the hair from the nose outwards
    {285, 55, FRONT, 12.5f, 43, SOFT}, {295, 65, FRONT, 26.5f, 47, SOFT}, {282, 52, FRONT, 37, 47, SOFT},
    {283, 53, FRONT, 46, 44.5f, SOFT}, {276, 46, FRONT, 52.5f, 40, SOFT}, {336, 107, FRONT, 14, 51, SOFT},
    {296, 66, FRONT, 28, 53, SOFT}, {334, 105, FRONT, 40, 52.5f, SOFT}, {293, 63, FRONT, 50, 49, SOFT},
    {300, 70, FRONT, 57, 42, SOFT},
    {353, 124, FRONT, 55.5f, 31.5f, VAGUE}, {265, 35, FRONT, 58, 22.5f, VAGUE}, {383, 156, FRONT, 60.5f, 33, VAGUE},
    // nose: its back from the root to the tip and down to the lip; beside it; wings and their grooves; nostrils
    {168, -1, FRONT, 0, 33, 1}, {6, -1, FRONT, 0, 26, 1}, {197, -1, FRONT, 0, 19, 1}, {195, -1, FRONT, 0, 11.5f, 1},
    {5, -1, FRONT, 0, 5, 1}, {4, -1, FRONT, 0, -2.5f, 1}, {1, -1, FRONT, 0, -7.5f, 1}, {19, -1, FRONT, 0, -13, 1},
    {94, -1, FRONT, 0, -16, 1}, {2, -1, FRONT, 0, -19.5f, 1},
    {417, 193, FRONT, 8, 32, SOFT}, {351, 122, FRONT, 5.5f, 23.5f, SOFT}, {412, 188, FRONT, 9, 19.5f, SOFT},
    {419, 196, FRONT, 5, 17, SOFT}, {399, 174, FRONT, 9, 13.5f, SOFT}, {248, 3, FRONT, 5, 11, SOFT},
    {456, 236, FRONT, 9.2f, 8, SOFT}, {281, 51, FRONT, 5, 4, SOFT}, {363, 134, FRONT, 9, 1.5f, SOFT},
    {420, 198, FRONT, 12.2f, 2.5f, SOFT}, {275, 45, FRONT, 5, -2.5f, SOFT}, {440, 220, FRONT, 9, -4, SOFT},
    {274, 44, FRONT, 4.5f, -8, SOFT}, {437, 217, FRONT, 13, 8.5f, SOFT}, {343, 114, FRONT, 13.5f, 14.5f, SOFT},
    {327, 98, FRONT, 14.5f, -17.5f, 1}, {326, 97, FRONT, 6.5f, -19.6f, 1}, {358, 129, FRONT, 19, -10.5f, 1},
    {279, 49, FRONT, 16.5f, -5.5f, 1}, {278, 48, FRONT, 16, -9.5f, 1},
    {331, 102, FRONT, 17.5f, -9.5f, SOFT}, {294, 64, FRONT, 16.5f, -12.5f, SOFT}, {344, 115, FRONT, 13, -6.5f, SOFT},
    {360, 131, FRONT, 13, -2.5f, SOFT}, {429, 209, FRONT, 16.2f, -1, SOFT}, {438, 218, FRONT, 11, -9, SOFT},
    {439, 219, FRONT, 14, -11.5f, SOFT}, {455, 235, FRONT, 14.5f, -13.5f, SOFT},
    {277, 47, FRONT, 17, 9.5f, VAGUE}, {355, 126, FRONT, 16.6f, 3.5f, VAGUE}, {371, 142, FRONT, 21, -1.5f, VAGUE},
    {329, 100, FRONT, 23, 5.5f, VAGUE},
    // cheeks: cheekbone, beside the nose, along the fold, the middle, down to the jaw
    {330, 101, FRONT, 33, 0.5f, VAGUE}, {266, 36, FRONT, 28, -7.5f, VAGUE}, {280, 50, FRONT, 47.5f, -7, VAGUE},
    {345, 116, FRONT, 63, 7.5f, VAGUE}, {352, 123, FRONT, 62.5f, -7, VAGUE}, {425, 205, FRONT, 38, -16, VAGUE},
    {423, 203, FRONT, 23.5f, -15.5f, VAGUE}, {426, 206, FRONT, 30, -24, VAGUE}, {411, 187, FRONT, 52, -23, VAGUE},
    {427, 207, FRONT, 44, -28, VAGUE}, {436, 216, FRONT, 35, -33, VAGUE}, {376, 147, FRONT, 61.5f, -21.5f, VAGUE},
    {432, 212, FRONT, 37, -44.5f, VAGUE}, {434, 214, FRONT, 45.5f, -47.5f, VAGUE}, {416, 192, FRONT, 53, -41, VAGUE},
    {422, 202, FRONT, 32, -52.5f, VAGUE}, {424, 204, FRONT, 26, -59, VAGUE}, {430, 210, FRONT, 37.5f, -59, VAGUE},
    {418, 194, FRONT, 19, -64, VAGUE}, {431, 211, FRONT, 29.5f, -65.5f, VAGUE},
    // chin and the middle of the forehead
    {200, -1, FRONT, 0, -66.5f, SOFT}, {199, -1, FRONT, 0, -75, SOFT}, {175, -1, FRONT, 0, -82, SOFT},
    {421, 201, FRONT, 10, -66.5f, SOFT}, {428, 208, FRONT, 11.5f, -75, SOFT}, {262, 32, FRONT, 22, -71, SOFT},
    {9, -1, FRONT, 0, 50, SOFT}, {8, -1, FRONT, 0, 41.5f, SOFT},
    {396, 171, FRONT, 12, -81.5f, VAGUE}, {369, 140, FRONT, 22.5f, -78, VAGUE}, {151, -1, FRONT, 0, 66, VAGUE},
    {337, 108, FRONT, 16, 66, VAGUE}, {299, 69, FRONT, 31, 65.5f, VAGUE}, {333, 104, FRONT, 44.5f, 62.5f, VAGUE},
    {298, 68, FRONT, 55.5f, 55.5f, VAGUE}, {301, 71, FRONT, 63, 45, VAGUE},
    // the oval of the face slides
    {10, -1, FRONT, 0, 81.5f, SLIDES}, {338, 109, FRONT, 18.5f, 81.5f, SLIDES}, {297, 67, FRONT, 34, 78.5f, SLIDES},
    {332, 103, FRONT, 49.5f, 72, SLIDES}, {284, 54, FRONT, 61, 62, SLIDES}, {152, -1, FRONT, 0, -86.5f, SLIDES},
    {377, 148, FRONT, 11, -85.8f, SLIDES}, {400, 176, FRONT, 21, -82.5f, SLIDES},
    {378, 149, FRONT, 29.5f, -79.5f, SLIDES}, {379, 150, FRONT, 38, -73.5f, SLIDES},
    {365, 136, FRONT, 46.5f, -67.5f, SLIDES},
    {251, 21, SIDE, 32, 51, SLIDES}, {389, 162, SIDE, 22, 36, SLIDES}, {356, 127, SIDE, 13, 18, SLIDES},
    {454, 234, SIDE, 9, 1, SLIDES}, {323, 93, SIDE, 10, -15, SLIDES}, {361, 132, SIDE, 13, -32, SLIDES},
    {288, 58, SIDE, 18, -49, SLIDES}, {397, 172, SIDE, 30, -59, SLIDES},
};

static const Place places_iris[] = {
    // irises: centre, outer, upper, inner, lower rim
    {473, 468, IRIS, 0, 0, GAZES}, {474, 471, IRIS, 0, 1, GAZES}, {475, 470, IRIS, 90, 1, GAZES},
    {476, 469, IRIS, 180, 1, GAZES}, {477, 472, IRIS, 270, 1, GAZES},
};
// clang-format on

#endif
