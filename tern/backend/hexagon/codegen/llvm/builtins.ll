; SPDX-License-Identifier: Apache-2.0
; Made of builtins.c by make_generated.sh.

define hidden i32 @__hexagon_udivsi3(i32 noundef %0, i32 noundef %1) local_unnamed_addr #0 {
  %3 = add i32 %1, -1
  %4 = icmp ult i32 %3, %0
  br i1 %4, label %5, label %26

5:
  %6 = tail call range(i32 0, 33) i32 @llvm.ctlz.i32(i32 %1, i1 true)
  %7 = tail call range(i32 0, 33) i32 @llvm.ctlz.i32(i32 %0, i1 true)
  %8 = sub nsw i32 %6, %7
  %9 = icmp sgt i32 %8, -1
  br i1 %9, label %10, label %26

10:
  %11 = shl i32 %1, %8
  br label %12

12:
  %13 = phi i32 [ %23, %12 ], [ %8, %10 ]
  %14 = phi i32 [ %22, %12 ], [ 0, %10 ]
  %15 = phi i32 [ %20, %12 ], [ %0, %10 ]
  %16 = phi i32 [ %24, %12 ], [ %11, %10 ]
  %17 = shl i32 %14, 1
  %18 = icmp uge i32 %15, %16
  %19 = select i1 %18, i32 %16, i32 0
  %20 = sub nuw i32 %15, %19
  %21 = zext i1 %18 to i32
  %22 = or disjoint i32 %17, %21
  %23 = add nsw i32 %13, -1
  %24 = lshr i32 %16, 1
  %25 = icmp eq i32 %13, 0
  br i1 %25, label %26, label %12

26:
  %27 = phi i32 [ 0, %2 ], [ 0, %5 ], [ %22, %12 ]
  ret i32 %27
}

define hidden i32 @__hexagon_umodsi3(i32 noundef %0, i32 noundef %1) local_unnamed_addr #0 {
  %3 = add i32 %1, -1
  %4 = icmp ult i32 %3, %0
  br i1 %4, label %5, label %22

5:
  %6 = tail call range(i32 0, 33) i32 @llvm.ctlz.i32(i32 %1, i1 true)
  %7 = tail call range(i32 0, 33) i32 @llvm.ctlz.i32(i32 %0, i1 true)
  %8 = sub nsw i32 %6, %7
  %9 = icmp sgt i32 %8, -1
  br i1 %9, label %10, label %22

10:
  %11 = shl i32 %1, %8
  br label %12

12:
  %13 = phi i32 [ %19, %12 ], [ %8, %10 ]
  %14 = phi i32 [ %18, %12 ], [ %0, %10 ]
  %15 = phi i32 [ %20, %12 ], [ %11, %10 ]
  %16 = icmp ult i32 %14, %15
  %17 = select i1 %16, i32 0, i32 %15
  %18 = sub nuw i32 %14, %17
  %19 = add nsw i32 %13, -1
  %20 = lshr i32 %15, 1
  %21 = icmp eq i32 %13, 0
  br i1 %21, label %22, label %12

22:
  %23 = phi i32 [ %0, %2 ], [ %0, %5 ], [ %18, %12 ]
  ret i32 %23
}

define hidden i32 @__hexagon_divsi3(i32 noundef %0, i32 noundef %1) local_unnamed_addr #0 {
  %3 = tail call i32 @llvm.abs.i32(i32 %0, i1 false)
  %4 = tail call i32 @llvm.abs.i32(i32 %1, i1 false)
  %5 = icmp eq i32 %1, 0
  %6 = icmp ugt i32 %4, %3
  %7 = or i1 %5, %6
  br i1 %7, label %29, label %8

8:
  %9 = tail call range(i32 0, 33) i32 @llvm.ctlz.i32(i32 %4, i1 true)
  %10 = tail call range(i32 0, 33) i32 @llvm.ctlz.i32(i32 %3, i1 false)
  %11 = sub nsw i32 %9, %10
  %12 = icmp sgt i32 %11, -1
  br i1 %12, label %13, label %29

13:
  %14 = shl i32 %4, %11
  br label %15

15:
  %16 = phi i32 [ %26, %15 ], [ %11, %13 ]
  %17 = phi i32 [ %25, %15 ], [ 0, %13 ]
  %18 = phi i32 [ %23, %15 ], [ %3, %13 ]
  %19 = phi i32 [ %27, %15 ], [ %14, %13 ]
  %20 = shl i32 %17, 1
  %21 = icmp uge i32 %18, %19
  %22 = select i1 %21, i32 %19, i32 0
  %23 = sub nuw i32 %18, %22
  %24 = zext i1 %21 to i32
  %25 = or disjoint i32 %20, %24
  %26 = add nsw i32 %16, -1
  %27 = lshr i32 %19, 1
  %28 = icmp eq i32 %16, 0
  br i1 %28, label %29, label %15

29:
  %30 = phi i32 [ 0, %2 ], [ 0, %8 ], [ %25, %15 ]
  %31 = xor i32 %1, %0
  %32 = icmp slt i32 %31, 0
  %33 = sub i32 0, %30
  %34 = select i1 %32, i32 %33, i32 %30
  ret i32 %34
}

define hidden i32 @__hexagon_modsi3(i32 noundef %0, i32 noundef %1) local_unnamed_addr #0 {
  %3 = tail call i32 @llvm.abs.i32(i32 %0, i1 false)
  %4 = tail call i32 @llvm.abs.i32(i32 %1, i1 false)
  %5 = icmp eq i32 %1, 0
  %6 = icmp ugt i32 %4, %3
  %7 = or i1 %5, %6
  br i1 %7, label %25, label %8

8:
  %9 = tail call range(i32 0, 33) i32 @llvm.ctlz.i32(i32 %4, i1 true)
  %10 = tail call range(i32 0, 33) i32 @llvm.ctlz.i32(i32 %3, i1 false)
  %11 = sub nsw i32 %9, %10
  %12 = icmp sgt i32 %11, -1
  br i1 %12, label %13, label %25

13:
  %14 = shl i32 %4, %11
  br label %15

15:
  %16 = phi i32 [ %22, %15 ], [ %11, %13 ]
  %17 = phi i32 [ %21, %15 ], [ %3, %13 ]
  %18 = phi i32 [ %23, %15 ], [ %14, %13 ]
  %19 = icmp ult i32 %17, %18
  %20 = select i1 %19, i32 0, i32 %18
  %21 = sub nuw i32 %17, %20
  %22 = add nsw i32 %16, -1
  %23 = lshr i32 %18, 1
  %24 = icmp eq i32 %16, 0
  br i1 %24, label %25, label %15

25:
  %26 = phi i32 [ %3, %2 ], [ %3, %8 ], [ %21, %15 ]
  %27 = icmp slt i32 %0, 0
  %28 = sub i32 0, %26
  %29 = select i1 %27, i32 %28, i32 %26
  ret i32 %29
}

define hidden i64 @__hexagon_udivdi3(i64 noundef %0, i64 noundef %1) local_unnamed_addr #0 {
  %3 = add i64 %1, -1
  %4 = icmp ult i64 %3, %0
  br i1 %4, label %5, label %29

5:
  %6 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %1, i1 true)
  %7 = trunc nuw nsw i64 %6 to i32
  %8 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %0, i1 true)
  %9 = trunc nuw nsw i64 %8 to i32
  %10 = sub nsw i32 %7, %9
  %11 = icmp sgt i32 %10, -1
  br i1 %11, label %12, label %29

12:
  %13 = zext nneg i32 %10 to i64
  %14 = shl i64 %1, %13
  br label %15

15:
  %16 = phi i32 [ %26, %15 ], [ %10, %12 ]
  %17 = phi i64 [ %25, %15 ], [ 0, %12 ]
  %18 = phi i64 [ %23, %15 ], [ %0, %12 ]
  %19 = phi i64 [ %27, %15 ], [ %14, %12 ]
  %20 = shl i64 %17, 1
  %21 = icmp uge i64 %18, %19
  %22 = select i1 %21, i64 %19, i64 0
  %23 = sub nuw i64 %18, %22
  %24 = zext i1 %21 to i64
  %25 = or disjoint i64 %20, %24
  %26 = add nsw i32 %16, -1
  %27 = lshr i64 %19, 1
  %28 = icmp eq i32 %16, 0
  br i1 %28, label %29, label %15

29:
  %30 = phi i64 [ 0, %2 ], [ 0, %5 ], [ %25, %15 ]
  ret i64 %30
}

define hidden i64 @__hexagon_umoddi3(i64 noundef %0, i64 noundef %1) local_unnamed_addr #0 {
  %3 = add i64 %1, -1
  %4 = icmp ult i64 %3, %0
  br i1 %4, label %5, label %25

5:
  %6 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %1, i1 true)
  %7 = trunc nuw nsw i64 %6 to i32
  %8 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %0, i1 true)
  %9 = trunc nuw nsw i64 %8 to i32
  %10 = sub nsw i32 %7, %9
  %11 = icmp sgt i32 %10, -1
  br i1 %11, label %12, label %25

12:
  %13 = zext nneg i32 %10 to i64
  %14 = shl i64 %1, %13
  br label %15

15:
  %16 = phi i32 [ %22, %15 ], [ %10, %12 ]
  %17 = phi i64 [ %21, %15 ], [ %0, %12 ]
  %18 = phi i64 [ %23, %15 ], [ %14, %12 ]
  %19 = icmp ult i64 %17, %18
  %20 = select i1 %19, i64 0, i64 %18
  %21 = sub nuw i64 %17, %20
  %22 = add nsw i32 %16, -1
  %23 = lshr i64 %18, 1
  %24 = icmp eq i32 %16, 0
  br i1 %24, label %25, label %15

25:
  %26 = phi i64 [ %0, %2 ], [ %0, %5 ], [ %21, %15 ]
  ret i64 %26
}

define hidden i64 @__hexagon_divdi3(i64 noundef %0, i64 noundef %1) local_unnamed_addr #0 {
  %3 = tail call i64 @llvm.abs.i64(i64 %0, i1 false)
  %4 = tail call i64 @llvm.abs.i64(i64 %1, i1 false)
  %5 = icmp eq i64 %1, 0
  %6 = icmp ugt i64 %4, %3
  %7 = or i1 %5, %6
  br i1 %7, label %32, label %8

8:
  %9 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %4, i1 true)
  %10 = trunc nuw nsw i64 %9 to i32
  %11 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %3, i1 false)
  %12 = trunc nuw nsw i64 %11 to i32
  %13 = sub nsw i32 %10, %12
  %14 = icmp sgt i32 %13, -1
  br i1 %14, label %15, label %32

15:
  %16 = zext nneg i32 %13 to i64
  %17 = shl i64 %4, %16
  br label %18

18:
  %19 = phi i32 [ %29, %18 ], [ %13, %15 ]
  %20 = phi i64 [ %28, %18 ], [ 0, %15 ]
  %21 = phi i64 [ %26, %18 ], [ %3, %15 ]
  %22 = phi i64 [ %30, %18 ], [ %17, %15 ]
  %23 = shl i64 %20, 1
  %24 = icmp uge i64 %21, %22
  %25 = select i1 %24, i64 %22, i64 0
  %26 = sub nuw i64 %21, %25
  %27 = zext i1 %24 to i64
  %28 = or disjoint i64 %23, %27
  %29 = add nsw i32 %19, -1
  %30 = lshr i64 %22, 1
  %31 = icmp eq i32 %19, 0
  br i1 %31, label %32, label %18

32:
  %33 = phi i64 [ 0, %2 ], [ 0, %8 ], [ %28, %18 ]
  %34 = xor i64 %1, %0
  %35 = icmp slt i64 %34, 0
  %36 = sub i64 0, %33
  %37 = select i1 %35, i64 %36, i64 %33
  ret i64 %37
}

define hidden i64 @__hexagon_moddi3(i64 noundef %0, i64 noundef %1) local_unnamed_addr #0 {
  %3 = tail call i64 @llvm.abs.i64(i64 %0, i1 false)
  %4 = tail call i64 @llvm.abs.i64(i64 %1, i1 false)
  %5 = icmp eq i64 %1, 0
  %6 = icmp ugt i64 %4, %3
  %7 = or i1 %5, %6
  br i1 %7, label %28, label %8

8:
  %9 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %4, i1 true)
  %10 = trunc nuw nsw i64 %9 to i32
  %11 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %3, i1 false)
  %12 = trunc nuw nsw i64 %11 to i32
  %13 = sub nsw i32 %10, %12
  %14 = icmp sgt i32 %13, -1
  br i1 %14, label %15, label %28

15:
  %16 = zext nneg i32 %13 to i64
  %17 = shl i64 %4, %16
  br label %18

18:
  %19 = phi i32 [ %25, %18 ], [ %13, %15 ]
  %20 = phi i64 [ %24, %18 ], [ %3, %15 ]
  %21 = phi i64 [ %26, %18 ], [ %17, %15 ]
  %22 = icmp ult i64 %20, %21
  %23 = select i1 %22, i64 0, i64 %21
  %24 = sub nuw i64 %20, %23
  %25 = add nsw i32 %19, -1
  %26 = lshr i64 %21, 1
  %27 = icmp eq i32 %19, 0
  br i1 %27, label %28, label %18

28:
  %29 = phi i64 [ %3, %2 ], [ %3, %8 ], [ %24, %18 ]
  %30 = icmp slt i64 %0, 0
  %31 = sub i64 0, %29
  %32 = select i1 %30, i64 %31, i64 %29
  ret i64 %32
}

define hidden float @__hexagon_divsf3(float noundef %0, float noundef %1) local_unnamed_addr #0 {
  %3 = bitcast float %0 to i32
  %4 = zext i32 %3 to i64
  %5 = bitcast float %1 to i32
  %6 = zext i32 %5 to i64
  %7 = xor i64 %6, %4
  %8 = and i64 %7, 2147483648
  %9 = and i64 %4, 2147483647
  %10 = and i64 %6, 2147483647
  %11 = icmp samesign ugt i64 %9, 2139095040
  %12 = icmp samesign ugt i64 %10, 2139095040
  %13 = select i1 %11, i1 true, i1 %12
  br i1 %13, label %126, label %14

14:
  %15 = icmp eq i64 %9, 2139095040
  %16 = icmp eq i64 %10, 2139095040
  %17 = and i1 %15, %16
  br i1 %17, label %126, label %18

18:
  %19 = icmp eq i64 %9, 0
  %20 = or i64 %6, %4
  %21 = and i64 %20, 2147483647
  %22 = icmp eq i64 %21, 0
  br i1 %22, label %126, label %23

23:
  %24 = icmp eq i64 %10, 0
  %25 = or i1 %15, %24
  br i1 %25, label %26, label %29

26:
  %27 = trunc nuw i64 %8 to i32
  %28 = or disjoint i32 %27, 2139095040
  br label %126

29:
  %30 = or i1 %19, %16
  %31 = trunc nuw i64 %8 to i32
  br i1 %30, label %126, label %32

32:
  %33 = and i64 %4, 8388607
  %34 = lshr i64 %9, 23
  %35 = icmp eq i64 %34, 0
  %36 = or disjoint i64 %33, 8388608
  %37 = select i1 %35, i64 %33, i64 %36
  %38 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %37, i1 false)
  %39 = shl i64 %37, %38
  %40 = and i64 %6, 8388607
  %41 = lshr i64 %10, 23
  %42 = icmp eq i64 %41, 0
  %43 = or disjoint i64 %40, 8388608
  %44 = select i1 %42, i64 %40, i64 %43
  %45 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %44, i1 false)
  %46 = shl i64 %44, %45
  %47 = lshr i64 %39, 40
  %48 = lshr i64 %46, 40
  %49 = icmp samesign ult i64 %47, %48
  %50 = zext i1 %49 to i64
  %51 = shl nuw nsw i64 %47, %50
  br label %113

52:
  %53 = trunc nuw nsw i64 %34 to i32
  %54 = add nuw nsw i32 %53, 63
  %55 = select i1 %35, i32 64, i32 %54
  %56 = trunc nuw nsw i64 %38 to i32
  %57 = trunc nuw nsw i64 %41 to i32
  %58 = sub nuw nsw i32 -63, %57
  %59 = select i1 %42, i32 -64, i32 %58
  %60 = trunc nuw nsw i64 %45 to i32
  %61 = sext i1 %49 to i32
  %62 = sub nsw i32 %55, %56
  %63 = add nsw i32 %62, %59
  %64 = add nsw i32 %63, %60
  %65 = add nsw i32 %64, %61
  %66 = shl i64 %122, 37
  %67 = icmp ne i64 %123, 0
  %68 = zext i1 %67 to i64
  %69 = or disjoint i64 %66, %68
  %70 = icmp sgt i32 %65, 127
  br i1 %70, label %109, label %71

71:
  %72 = icmp slt i32 %65, -126
  br i1 %72, label %73, label %88

73:
  %74 = icmp samesign ult i32 %65, -189
  br i1 %74, label %75, label %78

75:
  %76 = icmp ne i64 %69, 0
  %77 = zext i1 %76 to i64
  br label %90

78:
  %79 = sub nuw nsw i32 -126, %65
  %80 = zext nneg i32 %79 to i64
  %81 = lshr i64 %69, %80
  %82 = add nsw i32 %65, 190
  %83 = zext nneg i32 %82 to i64
  %84 = shl i64 %69, %83
  %85 = icmp ne i64 %84, 0
  %86 = zext i1 %85 to i64
  %87 = or i64 %81, %86
  br label %90

88:
  %89 = add nsw i32 %65, 126
  br label %90

90:
  %91 = phi i64 [ %69, %88 ], [ %87, %78 ], [ %77, %75 ]
  %92 = phi i32 [ %89, %88 ], [ 0, %78 ], [ 0, %75 ]
  %93 = shl i64 %91, 24
  %94 = lshr i64 %91, 40
  %95 = icmp ugt i64 %93, -9223372036854775808
  br i1 %95, label %102, label %96

96:
  %97 = icmp eq i64 %93, -9223372036854775808
  %98 = and i64 %91, 1099511627776
  %99 = icmp ne i64 %98, 0
  %100 = and i1 %97, %99
  %101 = zext i1 %100 to i32
  br label %102

102:
  %103 = phi i32 [ 1, %90 ], [ %101, %96 ]
  %104 = zext nneg i32 %103 to i64
  %105 = zext nneg i32 %92 to i64
  %106 = shl nuw nsw i64 %105, 23
  %107 = add nuw nsw i64 %106, %94
  %108 = add nuw nsw i64 %107, %104
  br label %109

109:
  %110 = phi i64 [ %108, %102 ], [ 2139095040, %52 ]
  %111 = or i64 %110, %8
  %112 = trunc nuw i64 %111 to i32
  br label %126

113:
  %114 = phi i32 [ 0, %32 ], [ %124, %113 ]
  %115 = phi i64 [ 0, %32 ], [ %122, %113 ]
  %116 = phi i64 [ %51, %32 ], [ %123, %113 ]
  %117 = shl i64 %115, 1
  %118 = icmp uge i64 %116, %48
  %119 = select i1 %118, i64 %48, i64 0
  %120 = sub nuw i64 %116, %119
  %121 = zext i1 %118 to i64
  %122 = or disjoint i64 %117, %121
  %123 = shl i64 %120, 1
  %124 = add nuw nsw i32 %114, 1
  %125 = icmp eq i32 %124, 27
  br i1 %125, label %52, label %113

126:
  %127 = phi i32 [ %31, %29 ], [ %28, %26 ], [ %112, %109 ], [ 2143289344, %18 ], [ 2143289344, %14 ], [ 2143289344, %2 ]
  %128 = bitcast i32 %127 to float
  ret float %128
}

define hidden double @__hexagon_divdf3(double noundef %0, double noundef %1) local_unnamed_addr #0 {
  %3 = bitcast double %0 to i64
  %4 = bitcast double %1 to i64
  %5 = xor i64 %4, %3
  %6 = and i64 %5, -9223372036854775808
  %7 = tail call double @llvm.fabs.f64(double %0)
  %8 = bitcast double %7 to i64
  %9 = tail call double @llvm.fabs.f64(double %1)
  %10 = bitcast double %9 to i64
  %11 = icmp samesign ugt i64 %8, 9218868437227405312
  %12 = icmp samesign ugt i64 %10, 9218868437227405312
  %13 = select i1 %11, i1 true, i1 %12
  br i1 %13, label %122, label %14

14:
  %15 = icmp eq i64 %8, 9218868437227405312
  %16 = icmp eq i64 %10, 9218868437227405312
  %17 = and i1 %15, %16
  br i1 %17, label %122, label %18

18:
  %19 = icmp eq i64 %8, 0
  %20 = or i64 %10, %8
  %21 = icmp eq i64 %20, 0
  br i1 %21, label %122, label %22

22:
  %23 = icmp eq i64 %10, 0
  %24 = or i1 %15, %23
  br i1 %24, label %25, label %27

25:
  %26 = or disjoint i64 %6, 9218868437227405312
  br label %122

27:
  %28 = or i1 %19, %16
  br i1 %28, label %122, label %29

29:
  %30 = and i64 %8, 4503599627370495
  %31 = lshr i64 %8, 52
  %32 = icmp eq i64 %31, 0
  %33 = or disjoint i64 %30, 4503599627370496
  %34 = select i1 %32, i64 %30, i64 %33
  %35 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %34, i1 false)
  %36 = shl i64 %34, %35
  %37 = and i64 %10, 4503599627370495
  %38 = lshr i64 %10, 52
  %39 = icmp eq i64 %38, 0
  %40 = or disjoint i64 %37, 4503599627370496
  %41 = select i1 %39, i64 %37, i64 %40
  %42 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %41, i1 false)
  %43 = shl i64 %41, %42
  %44 = lshr i64 %36, 11
  %45 = lshr i64 %43, 11
  %46 = icmp samesign ult i64 %44, %45
  %47 = zext i1 %46 to i64
  %48 = shl nuw nsw i64 %44, %47
  br label %109

49:
  %50 = trunc nuw nsw i64 %31 to i32
  %51 = add nuw nsw i32 %50, 63
  %52 = select i1 %32, i32 64, i32 %51
  %53 = trunc nuw nsw i64 %35 to i32
  %54 = trunc nuw nsw i64 %38 to i32
  %55 = sub nuw nsw i32 -63, %54
  %56 = select i1 %39, i32 -64, i32 %55
  %57 = trunc nuw nsw i64 %42 to i32
  %58 = sext i1 %46 to i32
  %59 = sub nsw i32 %52, %53
  %60 = add nsw i32 %59, %56
  %61 = add nsw i32 %60, %57
  %62 = add nsw i32 %61, %58
  %63 = shl i64 %118, 8
  %64 = icmp ne i64 %119, 0
  %65 = zext i1 %64 to i64
  %66 = or disjoint i64 %63, %65
  %67 = icmp sgt i32 %62, 1023
  br i1 %67, label %106, label %68

68:
  %69 = icmp slt i32 %62, -1022
  br i1 %69, label %70, label %85

70:
  %71 = icmp samesign ult i32 %62, -1085
  br i1 %71, label %72, label %75

72:
  %73 = icmp ne i64 %66, 0
  %74 = zext i1 %73 to i64
  br label %87

75:
  %76 = sub nuw nsw i32 -1022, %62
  %77 = zext nneg i32 %76 to i64
  %78 = lshr i64 %66, %77
  %79 = add nsw i32 %62, 1086
  %80 = zext nneg i32 %79 to i64
  %81 = shl i64 %66, %80
  %82 = icmp ne i64 %81, 0
  %83 = zext i1 %82 to i64
  %84 = or i64 %78, %83
  br label %87

85:
  %86 = add nsw i32 %62, 1022
  br label %87

87:
  %88 = phi i64 [ %66, %85 ], [ %84, %75 ], [ %74, %72 ]
  %89 = phi i32 [ %86, %85 ], [ 0, %75 ], [ 0, %72 ]
  %90 = shl i64 %88, 53
  %91 = lshr i64 %88, 11
  %92 = icmp ugt i64 %90, -9223372036854775808
  br i1 %92, label %99, label %93

93:
  %94 = icmp eq i64 %90, -9223372036854775808
  %95 = and i64 %88, 2048
  %96 = icmp ne i64 %95, 0
  %97 = and i1 %94, %96
  %98 = zext i1 %97 to i32
  br label %99

99:
  %100 = phi i32 [ 1, %87 ], [ %98, %93 ]
  %101 = zext nneg i32 %100 to i64
  %102 = zext nneg i32 %89 to i64
  %103 = shl nuw nsw i64 %102, 52
  %104 = add nuw nsw i64 %103, %91
  %105 = add nuw nsw i64 %104, %101
  br label %106

106:
  %107 = phi i64 [ %105, %99 ], [ 9218868437227405312, %49 ]
  %108 = or i64 %107, %6
  br label %122

109:
  %110 = phi i32 [ 0, %29 ], [ %120, %109 ]
  %111 = phi i64 [ 0, %29 ], [ %118, %109 ]
  %112 = phi i64 [ %48, %29 ], [ %119, %109 ]
  %113 = shl i64 %111, 1
  %114 = icmp uge i64 %112, %45
  %115 = select i1 %114, i64 %45, i64 0
  %116 = sub nuw i64 %112, %115
  %117 = zext i1 %114 to i64
  %118 = or disjoint i64 %113, %117
  %119 = shl i64 %116, 1
  %120 = add nuw nsw i32 %110, 1
  %121 = icmp eq i32 %120, 56
  br i1 %121, label %49, label %109

122:
  %123 = phi i64 [ %6, %27 ], [ %26, %25 ], [ %108, %106 ], [ 9221120237041090560, %18 ], [ 9221120237041090560, %14 ], [ 9221120237041090560, %2 ]
  %124 = bitcast i64 %123 to double
  ret double %124
}

define hidden float @__hexagon_sqrtf(float noundef %0) local_unnamed_addr #0 {
  %2 = bitcast float %0 to i32
  %3 = zext i32 %2 to i64
  %4 = and i64 %3, 2147483647
  %5 = icmp eq i64 %4, 0
  br i1 %5, label %70, label %6

6:
  %7 = icmp ugt i32 %2, 2139095040
  br i1 %7, label %70, label %8

8:
  %9 = icmp eq i32 %2, 2139095040
  br i1 %9, label %70, label %10

10:
  %11 = and i64 %3, 8388607
  %12 = lshr i32 %2, 23
  %13 = icmp eq i32 %12, 0
  %14 = or disjoint i64 %11, 8388608
  %15 = select i1 %13, i64 %11, i64 %14
  %16 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %15, i1 false)
  %17 = trunc nuw nsw i64 %16 to i32
  %18 = add nsw i32 %12, -87
  %19 = select i1 %13, i32 -86, i32 %18
  %20 = sub nsw i32 %19, %17
  %21 = shl i64 %15, %16
  %22 = and i32 %20, 1
  %23 = icmp ne i32 %22, 0
  %24 = xor i1 %23, true
  %25 = zext i1 %24 to i64
  %26 = lshr i64 %21, %25
  br label %53

27:
  %28 = sext i1 %23 to i32
  %29 = add nsw i32 %20, %28
  %30 = lshr i32 %29, 1
  %31 = shl i64 %65, 37
  %32 = icmp ne i64 %67, 0
  %33 = zext i1 %32 to i64
  %34 = or disjoint i64 %31, %33
  %35 = add nuw i32 %30, 126
  %36 = shl i64 %34, 24
  %37 = lshr i64 %31, 40
  %38 = icmp ugt i64 %36, -9223372036854775808
  br i1 %38, label %45, label %39

39:
  %40 = icmp eq i64 %36, -9223372036854775808
  %41 = and i64 %57, 4
  %42 = icmp ne i64 %41, 0
  %43 = and i1 %40, %42
  %44 = zext i1 %43 to i32
  br label %45

45:
  %46 = phi i32 [ 1, %27 ], [ %44, %39 ]
  %47 = zext i32 %35 to i64
  %48 = shl nuw nsw i64 %47, 23
  %49 = add nuw nsw i64 %48, %37
  %50 = trunc i64 %49 to i32
  %51 = add nuw nsw i32 %46, %50
  %52 = bitcast i32 %51 to float
  br label %70

53:
  %54 = phi i32 [ 0, %10 ], [ %68, %53 ]
  %55 = phi i64 [ %26, %10 ], [ %59, %53 ]
  %56 = phi i64 [ 0, %10 ], [ %67, %53 ]
  %57 = phi i64 [ 0, %10 ], [ %65, %53 ]
  %58 = tail call i64 @llvm.fshl.i64(i64 %56, i64 %55, i64 2)
  %59 = shl i64 %55, 2
  %60 = shl i64 %57, 2
  %61 = shl i64 %57, 1
  %62 = icmp ugt i64 %58, %60
  %63 = xor i64 %60, -1
  %64 = zext i1 %62 to i64
  %65 = or disjoint i64 %61, %64
  %66 = select i1 %62, i64 %63, i64 0
  %67 = add i64 %66, %58
  %68 = add nuw nsw i32 %54, 1
  %69 = icmp eq i32 %68, 27
  br i1 %69, label %27, label %53

70:
  %71 = phi float [ 0x7FF8000000000000, %6 ], [ 0x7FF0000000000000, %8 ], [ %0, %1 ], [ %52, %45 ]
  ret float %71
}

define hidden double @sqrt(double noundef %0) local_unnamed_addr #0 {
  %2 = bitcast double %0 to i64
  %3 = fcmp oeq double %0, 0.000000e+00
  br i1 %3, label %69, label %4

4:
  %5 = icmp ugt i64 %2, 9218868437227405312
  br i1 %5, label %69, label %6

6:
  %7 = icmp eq i64 %2, 9218868437227405312
  br i1 %7, label %69, label %8

8:
  %9 = and i64 %2, 4503599627370495
  %10 = lshr i64 %2, 52
  %11 = trunc nuw nsw i64 %10 to i32
  %12 = icmp eq i64 %10, 0
  %13 = or disjoint i64 %9, 4503599627370496
  %14 = select i1 %12, i64 %9, i64 %13
  %15 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %14, i1 false)
  %16 = trunc nuw nsw i64 %15 to i32
  %17 = add nsw i32 %11, -1012
  %18 = select i1 %12, i32 -1011, i32 %17
  %19 = sub nsw i32 %18, %16
  %20 = shl i64 %14, %15
  %21 = and i32 %19, 1
  %22 = icmp ne i32 %21, 0
  %23 = xor i1 %22, true
  %24 = zext i1 %23 to i64
  %25 = lshr i64 %20, %24
  br label %52

26:
  %27 = sext i1 %22 to i32
  %28 = add nsw i32 %19, %27
  %29 = ashr i32 %28, 1
  %30 = shl i64 %64, 8
  %31 = icmp ne i64 %66, 0
  %32 = zext i1 %31 to i64
  %33 = or disjoint i64 %30, %32
  %34 = add nsw i32 %29, 1022
  %35 = shl i64 %33, 53
  %36 = lshr i64 %30, 11
  %37 = icmp ugt i64 %35, -9223372036854775808
  br i1 %37, label %44, label %38

38:
  %39 = icmp eq i64 %35, -9223372036854775808
  %40 = and i64 %56, 4
  %41 = icmp ne i64 %40, 0
  %42 = and i1 %39, %41
  %43 = zext i1 %42 to i32
  br label %44

44:
  %45 = phi i32 [ 1, %26 ], [ %43, %38 ]
  %46 = zext nneg i32 %45 to i64
  %47 = zext nneg i32 %34 to i64
  %48 = shl nuw nsw i64 %47, 52
  %49 = add nuw nsw i64 %48, %36
  %50 = add nuw nsw i64 %49, %46
  %51 = bitcast i64 %50 to double
  br label %69

52:
  %53 = phi i32 [ 0, %8 ], [ %67, %52 ]
  %54 = phi i64 [ %25, %8 ], [ %58, %52 ]
  %55 = phi i64 [ 0, %8 ], [ %66, %52 ]
  %56 = phi i64 [ 0, %8 ], [ %64, %52 ]
  %57 = tail call i64 @llvm.fshl.i64(i64 %55, i64 %54, i64 2)
  %58 = shl i64 %54, 2
  %59 = shl i64 %56, 2
  %60 = shl i64 %56, 1
  %61 = icmp ugt i64 %57, %59
  %62 = xor i64 %59, -1
  %63 = zext i1 %61 to i64
  %64 = or disjoint i64 %60, %63
  %65 = select i1 %61, i64 %62, i64 0
  %66 = add i64 %65, %57
  %67 = add nuw nsw i32 %53, 1
  %68 = icmp eq i32 %67, 56
  br i1 %68, label %26, label %52

69:
  %70 = phi double [ 0x7FF8000000000000, %4 ], [ 0x7FF0000000000000, %6 ], [ %0, %1 ], [ %51, %44 ]
  ret double %70
}

define hidden double @__hexagon_adddf3(double noundef %0, double noundef %1) local_unnamed_addr #1 {
  %3 = bitcast double %0 to i64
  %4 = bitcast double %1 to i64
  %5 = tail call double @llvm.fabs.f64(double %0)
  %6 = bitcast double %5 to i64
  %7 = tail call double @llvm.fabs.f64(double %1)
  %8 = bitcast double %7 to i64
  %9 = icmp samesign ult i64 %6, %8
  %10 = select i1 %9, i64 %3, i64 %4
  %11 = select i1 %9, i64 %4, i64 %3
  %12 = and i64 %11, -9223372036854775808
  %13 = xor i64 %4, %3
  %14 = and i64 %13, -9223372036854775808
  %15 = and i64 %11, 9223372036854775807
  %16 = and i64 %10, 9223372036854775807
  %17 = icmp samesign ugt i64 %15, 9218868437227405312
  br i1 %17, label %130, label %18

18:
  %19 = icmp eq i64 %15, 9218868437227405312
  br i1 %19, label %20, label %25

20:
  %21 = icmp eq i64 %16, 9218868437227405312
  %22 = icmp ne i64 %14, 0
  %23 = and i1 %22, %21
  %24 = select i1 %23, i64 9221120237041090560, i64 %11
  br label %130

25:
  %26 = icmp eq i64 %16, 0
  br i1 %26, label %27, label %32

27:
  %28 = icmp eq i64 %15, 0
  %29 = icmp ne i64 %14, 0
  %30 = and i1 %29, %28
  %31 = select i1 %30, i64 0, i64 %11
  br label %130

32:
  %33 = and i64 %11, 4503599627370495
  %34 = lshr i64 %15, 52
  %35 = trunc nuw nsw i64 %34 to i32
  %36 = icmp eq i64 %34, 0
  %37 = or disjoint i64 %33, 4503599627370496
  %38 = select i1 %36, i64 %33, i64 %37
  %39 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %38, i1 false)
  %40 = trunc nuw nsw i64 %39 to i32
  %41 = add nsw i32 %35, -1012
  %42 = select i1 %36, i32 -1011, i32 %41
  %43 = sub nsw i32 %42, %40
  %44 = shl i64 %38, %39
  %45 = and i64 %10, 4503599627370495
  %46 = lshr i64 %16, 52
  %47 = trunc nuw nsw i64 %46 to i32
  %48 = icmp eq i64 %46, 0
  %49 = or disjoint i64 %45, 4503599627370496
  %50 = select i1 %48, i64 %45, i64 %49
  %51 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %50, i1 false)
  %52 = trunc nuw nsw i64 %51 to i32
  %53 = shl i64 %50, %51
  %54 = sub nsw i32 1012, %47
  %55 = select i1 %48, i32 1011, i32 %54
  %56 = add nsw i32 %55, %52
  %57 = add nsw i32 %56, %43
  %58 = lshr i64 %44, 1
  %59 = lshr i64 %53, 1
  %60 = icmp eq i32 %57, 0
  br i1 %60, label %75, label %61

61:
  %62 = icmp sgt i32 %57, 63
  br i1 %62, label %63, label %66

63:
  %64 = icmp ne i64 %59, 0
  %65 = zext i1 %64 to i64
  br label %75

66:
  %67 = zext nneg i32 %57 to i64
  %68 = lshr i64 %59, %67
  %69 = sub nsw i32 64, %57
  %70 = zext nneg i32 %69 to i64
  %71 = shl i64 %59, %70
  %72 = icmp ne i64 %71, 0
  %73 = zext i1 %72 to i64
  %74 = or i64 %68, %73
  br label %75

75:
  %76 = phi i64 [ %74, %66 ], [ %65, %63 ], [ %59, %32 ]
  %77 = icmp eq i64 %14, 0
  %78 = sub nsw i64 0, %76
  %79 = select i1 %77, i64 %76, i64 %78
  %80 = add i64 %79, %58
  %81 = icmp eq i64 %80, 0
  br i1 %81, label %130, label %82

82:
  %83 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %80, i1 true)
  %84 = trunc nuw nsw i64 %83 to i32
  %85 = add nsw i32 %43, 1
  %86 = sub nsw i32 %85, %84
  %87 = shl i64 %80, %83
  %88 = icmp sgt i32 %86, 1023
  br i1 %88, label %127, label %89

89:
  %90 = icmp slt i32 %86, -1022
  br i1 %90, label %91, label %106

91:
  %92 = icmp samesign ult i32 %86, -1085
  br i1 %92, label %93, label %96

93:
  %94 = icmp ne i64 %87, 0
  %95 = zext i1 %94 to i64
  br label %108

96:
  %97 = sub nuw nsw i32 -1022, %86
  %98 = zext nneg i32 %97 to i64
  %99 = lshr i64 %87, %98
  %100 = add nsw i32 %86, 1086
  %101 = zext nneg i32 %100 to i64
  %102 = shl i64 %87, %101
  %103 = icmp ne i64 %102, 0
  %104 = zext i1 %103 to i64
  %105 = or i64 %99, %104
  br label %108

106:
  %107 = add nsw i32 %86, 1022
  br label %108

108:
  %109 = phi i64 [ %87, %106 ], [ %105, %96 ], [ %95, %93 ]
  %110 = phi i32 [ %107, %106 ], [ 0, %96 ], [ 0, %93 ]
  %111 = shl i64 %109, 53
  %112 = lshr i64 %109, 11
  %113 = icmp ugt i64 %111, -9223372036854775808
  br i1 %113, label %120, label %114

114:
  %115 = icmp eq i64 %111, -9223372036854775808
  %116 = and i64 %109, 2048
  %117 = icmp ne i64 %116, 0
  %118 = and i1 %115, %117
  %119 = zext i1 %118 to i32
  br label %120

120:
  %121 = phi i32 [ 1, %108 ], [ %119, %114 ]
  %122 = zext nneg i32 %121 to i64
  %123 = zext nneg i32 %110 to i64
  %124 = shl nuw nsw i64 %123, 52
  %125 = add nuw nsw i64 %124, %112
  %126 = add nuw nsw i64 %125, %122
  br label %127

127:
  %128 = phi i64 [ %126, %120 ], [ 9218868437227405312, %82 ]
  %129 = or i64 %128, %12
  br label %130

130:
  %131 = phi i64 [ 0, %75 ], [ 9221120237041090560, %2 ], [ %31, %27 ], [ %24, %20 ], [ %129, %127 ]
  %132 = bitcast i64 %131 to double
  ret double %132
}

define hidden double @__hexagon_subdf3(double noundef %0, double noundef %1) local_unnamed_addr #1 {
  %3 = bitcast double %0 to i64
  %4 = fneg double %1
  %5 = bitcast double %4 to i64
  %6 = tail call double @llvm.fabs.f64(double %0)
  %7 = bitcast double %6 to i64
  %8 = tail call double @llvm.fabs.f64(double %1)
  %9 = bitcast double %8 to i64
  %10 = icmp samesign ult i64 %7, %9
  %11 = select i1 %10, i64 %3, i64 %5
  %12 = select i1 %10, i64 %5, i64 %3
  %13 = and i64 %12, -9223372036854775808
  %14 = xor i64 %5, %3
  %15 = and i64 %14, -9223372036854775808
  %16 = and i64 %12, 9223372036854775807
  %17 = and i64 %11, 9223372036854775807
  %18 = icmp samesign ugt i64 %16, 9218868437227405312
  br i1 %18, label %131, label %19

19:
  %20 = icmp eq i64 %16, 9218868437227405312
  br i1 %20, label %21, label %26

21:
  %22 = icmp eq i64 %17, 9218868437227405312
  %23 = icmp ne i64 %15, 0
  %24 = and i1 %23, %22
  %25 = select i1 %24, i64 9221120237041090560, i64 %12
  br label %131

26:
  %27 = icmp eq i64 %17, 0
  br i1 %27, label %28, label %33

28:
  %29 = icmp eq i64 %16, 0
  %30 = icmp ne i64 %15, 0
  %31 = and i1 %30, %29
  %32 = select i1 %31, i64 0, i64 %12
  br label %131

33:
  %34 = and i64 %12, 4503599627370495
  %35 = lshr i64 %16, 52
  %36 = trunc nuw nsw i64 %35 to i32
  %37 = icmp eq i64 %35, 0
  %38 = or disjoint i64 %34, 4503599627370496
  %39 = select i1 %37, i64 %34, i64 %38
  %40 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %39, i1 false)
  %41 = trunc nuw nsw i64 %40 to i32
  %42 = add nsw i32 %36, -1012
  %43 = select i1 %37, i32 -1011, i32 %42
  %44 = sub nsw i32 %43, %41
  %45 = shl i64 %39, %40
  %46 = and i64 %11, 4503599627370495
  %47 = lshr i64 %17, 52
  %48 = trunc nuw nsw i64 %47 to i32
  %49 = icmp eq i64 %47, 0
  %50 = or disjoint i64 %46, 4503599627370496
  %51 = select i1 %49, i64 %46, i64 %50
  %52 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %51, i1 false)
  %53 = trunc nuw nsw i64 %52 to i32
  %54 = shl i64 %51, %52
  %55 = sub nsw i32 1012, %48
  %56 = select i1 %49, i32 1011, i32 %55
  %57 = add nsw i32 %56, %53
  %58 = add nsw i32 %57, %44
  %59 = lshr i64 %45, 1
  %60 = lshr i64 %54, 1
  %61 = icmp eq i32 %58, 0
  br i1 %61, label %76, label %62

62:
  %63 = icmp sgt i32 %58, 63
  br i1 %63, label %64, label %67

64:
  %65 = icmp ne i64 %60, 0
  %66 = zext i1 %65 to i64
  br label %76

67:
  %68 = zext nneg i32 %58 to i64
  %69 = lshr i64 %60, %68
  %70 = sub nsw i32 64, %58
  %71 = zext nneg i32 %70 to i64
  %72 = shl i64 %60, %71
  %73 = icmp ne i64 %72, 0
  %74 = zext i1 %73 to i64
  %75 = or i64 %69, %74
  br label %76

76:
  %77 = phi i64 [ %75, %67 ], [ %66, %64 ], [ %60, %33 ]
  %78 = icmp eq i64 %15, 0
  %79 = sub nsw i64 0, %77
  %80 = select i1 %78, i64 %77, i64 %79
  %81 = add i64 %80, %59
  %82 = icmp eq i64 %81, 0
  br i1 %82, label %131, label %83

83:
  %84 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %81, i1 true)
  %85 = trunc nuw nsw i64 %84 to i32
  %86 = add nsw i32 %44, 1
  %87 = sub nsw i32 %86, %85
  %88 = shl i64 %81, %84
  %89 = icmp sgt i32 %87, 1023
  br i1 %89, label %128, label %90

90:
  %91 = icmp slt i32 %87, -1022
  br i1 %91, label %92, label %107

92:
  %93 = icmp samesign ult i32 %87, -1085
  br i1 %93, label %94, label %97

94:
  %95 = icmp ne i64 %88, 0
  %96 = zext i1 %95 to i64
  br label %109

97:
  %98 = sub nuw nsw i32 -1022, %87
  %99 = zext nneg i32 %98 to i64
  %100 = lshr i64 %88, %99
  %101 = add nsw i32 %87, 1086
  %102 = zext nneg i32 %101 to i64
  %103 = shl i64 %88, %102
  %104 = icmp ne i64 %103, 0
  %105 = zext i1 %104 to i64
  %106 = or i64 %100, %105
  br label %109

107:
  %108 = add nsw i32 %87, 1022
  br label %109

109:
  %110 = phi i64 [ %88, %107 ], [ %106, %97 ], [ %96, %94 ]
  %111 = phi i32 [ %108, %107 ], [ 0, %97 ], [ 0, %94 ]
  %112 = shl i64 %110, 53
  %113 = lshr i64 %110, 11
  %114 = icmp ugt i64 %112, -9223372036854775808
  br i1 %114, label %121, label %115

115:
  %116 = icmp eq i64 %112, -9223372036854775808
  %117 = and i64 %110, 2048
  %118 = icmp ne i64 %117, 0
  %119 = and i1 %116, %118
  %120 = zext i1 %119 to i32
  br label %121

121:
  %122 = phi i32 [ 1, %109 ], [ %120, %115 ]
  %123 = zext nneg i32 %122 to i64
  %124 = zext nneg i32 %111 to i64
  %125 = shl nuw nsw i64 %124, 52
  %126 = add nuw nsw i64 %125, %113
  %127 = add nuw nsw i64 %126, %123
  br label %128

128:
  %129 = phi i64 [ %127, %121 ], [ 9218868437227405312, %83 ]
  %130 = or i64 %129, %13
  br label %131

131:
  %132 = phi i64 [ 0, %76 ], [ 9221120237041090560, %2 ], [ %32, %28 ], [ %25, %21 ], [ %130, %128 ]
  %133 = bitcast i64 %132 to double
  ret double %133
}

define hidden double @__hexagon_muldf3(double noundef %0, double noundef %1) local_unnamed_addr #1 {
  %3 = bitcast double %0 to i64
  %4 = bitcast double %1 to i64
  %5 = xor i64 %4, %3
  %6 = and i64 %5, -9223372036854775808
  %7 = tail call double @llvm.fabs.f64(double %0)
  %8 = bitcast double %7 to i64
  %9 = tail call double @llvm.fabs.f64(double %1)
  %10 = bitcast double %9 to i64
  %11 = icmp samesign ugt i64 %8, 9218868437227405312
  %12 = icmp samesign ugt i64 %10, 9218868437227405312
  %13 = select i1 %11, i1 true, i1 %12
  br i1 %13, label %127, label %14

14:
  %15 = icmp eq i64 %8, 9218868437227405312
  %16 = icmp eq i64 %10, 0
  %17 = and i1 %15, %16
  br i1 %17, label %127, label %18

18:
  %19 = icmp eq i64 %8, 0
  %20 = icmp eq i64 %10, 9218868437227405312
  %21 = and i1 %19, %20
  br i1 %21, label %127, label %22

22:
  %23 = or i1 %15, %20
  br i1 %23, label %24, label %26

24:
  %25 = or disjoint i64 %6, 9218868437227405312
  br label %127

26:
  %27 = or i1 %19, %16
  br i1 %27, label %127, label %28

28:
  %29 = and i64 %8, 4503599627370495
  %30 = lshr i64 %8, 52
  %31 = trunc nuw nsw i64 %30 to i32
  %32 = icmp eq i64 %30, 0
  %33 = or disjoint i64 %29, 4503599627370496
  %34 = select i1 %32, i64 %29, i64 %33
  %35 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %34, i1 false)
  %36 = trunc nuw nsw i64 %35 to i32
  %37 = shl i64 %34, %35
  %38 = and i64 %10, 4503599627370495
  %39 = lshr i64 %10, 52
  %40 = trunc nuw nsw i64 %39 to i32
  %41 = icmp eq i64 %39, 0
  %42 = or disjoint i64 %38, 4503599627370496
  %43 = add nuw nsw i32 %40, 63
  %44 = select i1 %41, i32 64, i32 %43
  %45 = select i1 %41, i64 %38, i64 %42
  %46 = tail call range(i64 0, 65) i64 @llvm.ctlz.i64(i64 %45, i1 false)
  %47 = trunc nuw nsw i64 %46 to i32
  %48 = shl i64 %45, %46
  %49 = lshr i64 %37, 32
  %50 = and i64 %37, 4294967295
  %51 = lshr i64 %48, 32
  %52 = and i64 %48, 4294967295
  %53 = mul nuw i64 %52, %50
  %54 = mul nuw i64 %52, %49
  %55 = lshr i64 %53, 32
  %56 = add nuw i64 %55, %54
  %57 = mul nuw i64 %51, %50
  %58 = and i64 %56, 4294967295
  %59 = add nuw i64 %58, %57
  %60 = mul nuw i64 %51, %49
  %61 = lshr i64 %56, 32
  %62 = add nuw i64 %61, %60
  %63 = lshr i64 %59, 32
  %64 = add nuw i64 %62, %63
  %65 = add nuw nsw i32 %31, -2087
  %66 = select i1 %32, i32 -2086, i32 %65
  %67 = add nsw i32 %66, %44
  %68 = add nuw nsw i32 %36, %47
  %69 = sub nsw i32 %67, %68
  %70 = add nsw i32 %69, 1
  %71 = shl i64 %59, 32
  %72 = and i64 %53, 4294967295
  %73 = or disjoint i64 %71, %72
  %74 = icmp sgt i64 %64, -1
  br i1 %74, label %75, label %78

75:
  %76 = tail call i64 @llvm.fshl.i64(i64 %64, i64 %71, i64 1)
  %77 = shl i64 %73, 1
  br label %78

78:
  %79 = phi i32 [ %69, %75 ], [ %70, %28 ]
  %80 = phi i64 [ %77, %75 ], [ %73, %28 ]
  %81 = phi i64 [ %76, %75 ], [ %64, %28 ]
  %82 = icmp ne i64 %80, 0
  %83 = zext i1 %82 to i64
  %84 = or i64 %81, %83
  %85 = icmp sgt i32 %79, 1023
  br i1 %85, label %124, label %86

86:
  %87 = icmp slt i32 %79, -1022
  br i1 %87, label %88, label %103

88:
  %89 = icmp samesign ult i32 %79, -1085
  br i1 %89, label %90, label %93

90:
  %91 = icmp ne i64 %84, 0
  %92 = zext i1 %91 to i64
  br label %105

93:
  %94 = sub nuw nsw i32 -1022, %79
  %95 = zext nneg i32 %94 to i64
  %96 = lshr i64 %84, %95
  %97 = add nsw i32 %79, 1086
  %98 = zext nneg i32 %97 to i64
  %99 = shl i64 %84, %98
  %100 = icmp ne i64 %99, 0
  %101 = zext i1 %100 to i64
  %102 = or i64 %96, %101
  br label %105

103:
  %104 = add nsw i32 %79, 1022
  br label %105

105:
  %106 = phi i64 [ %84, %103 ], [ %102, %93 ], [ %92, %90 ]
  %107 = phi i32 [ %104, %103 ], [ 0, %93 ], [ 0, %90 ]
  %108 = shl i64 %106, 53
  %109 = lshr i64 %106, 11
  %110 = icmp ugt i64 %108, -9223372036854775808
  br i1 %110, label %117, label %111

111:
  %112 = icmp eq i64 %108, -9223372036854775808
  %113 = and i64 %106, 2048
  %114 = icmp ne i64 %113, 0
  %115 = and i1 %112, %114
  %116 = zext i1 %115 to i32
  br label %117

117:
  %118 = phi i32 [ 1, %105 ], [ %116, %111 ]
  %119 = zext nneg i32 %118 to i64
  %120 = zext nneg i32 %107 to i64
  %121 = shl nuw nsw i64 %120, 52
  %122 = add nuw nsw i64 %121, %109
  %123 = add nuw nsw i64 %122, %119
  br label %124

124:
  %125 = phi i64 [ %123, %117 ], [ 9218868437227405312, %78 ]
  %126 = or i64 %125, %6
  br label %127

127:
  %128 = phi i64 [ %6, %26 ], [ %25, %24 ], [ %126, %124 ], [ 9221120237041090560, %18 ], [ 9221120237041090560, %14 ], [ 9221120237041090560, %2 ]
  %129 = bitcast i64 %128 to double
  ret double %129
}

define hidden noundef ptr @memcpy(ptr noundef returned %0, ptr noundef %1, i32 noundef %2) local_unnamed_addr #2 {
  %4 = ptrtoint ptr %0 to i32
  %5 = ptrtoint ptr %1 to i32
  %6 = or i32 %5, %4
  %7 = and i32 %6, 7
  %8 = icmp eq i32 %7, 0
  %9 = icmp ugt i32 %2, 7
  %10 = and i1 %9, %8
  br i1 %10, label %11, label %20

11:
  %12 = phi ptr [ %17, %11 ], [ %0, %3 ]
  %13 = phi ptr [ %18, %11 ], [ %1, %3 ]
  %14 = phi i32 [ %16, %11 ], [ %2, %3 ]
  %15 = load i64, ptr %13, align 8
  store i64 %15, ptr %12, align 8
  %16 = add i32 %14, -8
  %17 = getelementptr inbounds nuw i8, ptr %12, i32 8
  %18 = getelementptr inbounds nuw i8, ptr %13, i32 8
  %19 = icmp ugt i32 %16, 7
  br i1 %19, label %11, label %20

20:
  %21 = phi ptr [ %0, %3 ], [ %17, %11 ]
  %22 = phi ptr [ %1, %3 ], [ %18, %11 ]
  %23 = phi i32 [ %2, %3 ], [ %16, %11 ]
  %24 = icmp eq i32 %23, 0
  br i1 %24, label %34, label %25

25:
  %26 = phi i32 [ %32, %25 ], [ %23, %20 ]
  %27 = phi ptr [ %29, %25 ], [ %22, %20 ]
  %28 = phi ptr [ %31, %25 ], [ %21, %20 ]
  %29 = getelementptr inbounds nuw i8, ptr %27, i32 1
  %30 = load i8, ptr %27, align 1
  %31 = getelementptr inbounds nuw i8, ptr %28, i32 1
  store i8 %30, ptr %28, align 1
  %32 = add i32 %26, -1
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %34, label %25

34:
  ret ptr %0
}

define hidden void @__hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(ptr noundef %0, ptr noundef %1, i32 noundef %2) local_unnamed_addr #2 {
  %4 = ptrtoint ptr %0 to i32
  %5 = ptrtoint ptr %1 to i32
  %6 = or i32 %5, %4
  %7 = and i32 %6, 7
  %8 = icmp eq i32 %7, 0
  %9 = icmp ugt i32 %2, 7
  %10 = and i1 %9, %8
  br i1 %10, label %11, label %20

11:
  %12 = phi ptr [ %17, %11 ], [ %0, %3 ]
  %13 = phi ptr [ %18, %11 ], [ %1, %3 ]
  %14 = phi i32 [ %16, %11 ], [ %2, %3 ]
  %15 = load i64, ptr %13, align 8
  store i64 %15, ptr %12, align 8
  %16 = add i32 %14, -8
  %17 = getelementptr inbounds nuw i8, ptr %12, i32 8
  %18 = getelementptr inbounds nuw i8, ptr %13, i32 8
  %19 = icmp ugt i32 %16, 7
  br i1 %19, label %11, label %20

20:
  %21 = phi ptr [ %0, %3 ], [ %17, %11 ]
  %22 = phi ptr [ %1, %3 ], [ %18, %11 ]
  %23 = phi i32 [ %2, %3 ], [ %16, %11 ]
  %24 = icmp eq i32 %23, 0
  br i1 %24, label %34, label %25

25:
  %26 = phi i32 [ %32, %25 ], [ %23, %20 ]
  %27 = phi ptr [ %29, %25 ], [ %22, %20 ]
  %28 = phi ptr [ %31, %25 ], [ %21, %20 ]
  %29 = getelementptr inbounds nuw i8, ptr %27, i32 1
  %30 = load i8, ptr %27, align 1
  %31 = getelementptr inbounds nuw i8, ptr %28, i32 1
  store i8 %30, ptr %28, align 1
  %32 = add i32 %26, -1
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %34, label %25

34:
  ret void
}

define hidden noundef ptr @memmove(ptr noundef returned %0, ptr noundef %1, i32 noundef %2) local_unnamed_addr #2 {
  %4 = ptrtoint ptr %0 to i32
  %5 = ptrtoint ptr %1 to i32
  %6 = sub i32 %4, %5
  %7 = icmp ult i32 %6, %2
  br i1 %7, label %37, label %8

8:
  %9 = or i32 %5, %4
  %10 = and i32 %9, 7
  %11 = icmp eq i32 %10, 0
  %12 = icmp ugt i32 %2, 7
  %13 = and i1 %12, %11
  br i1 %13, label %14, label %23

14:
  %15 = phi ptr [ %20, %14 ], [ %0, %8 ]
  %16 = phi ptr [ %21, %14 ], [ %1, %8 ]
  %17 = phi i32 [ %19, %14 ], [ %2, %8 ]
  %18 = load i64, ptr %16, align 8
  store i64 %18, ptr %15, align 8
  %19 = add i32 %17, -8
  %20 = getelementptr inbounds nuw i8, ptr %15, i32 8
  %21 = getelementptr inbounds nuw i8, ptr %16, i32 8
  %22 = icmp ugt i32 %19, 7
  br i1 %22, label %14, label %23

23:
  %24 = phi ptr [ %0, %8 ], [ %20, %14 ]
  %25 = phi ptr [ %1, %8 ], [ %21, %14 ]
  %26 = phi i32 [ %2, %8 ], [ %19, %14 ]
  %27 = icmp eq i32 %26, 0
  br i1 %27, label %44, label %28

28:
  %29 = phi i32 [ %35, %28 ], [ %26, %23 ]
  %30 = phi ptr [ %32, %28 ], [ %25, %23 ]
  %31 = phi ptr [ %34, %28 ], [ %24, %23 ]
  %32 = getelementptr inbounds nuw i8, ptr %30, i32 1
  %33 = load i8, ptr %30, align 1
  %34 = getelementptr inbounds nuw i8, ptr %31, i32 1
  store i8 %33, ptr %31, align 1
  %35 = add i32 %29, -1
  %36 = icmp eq i32 %35, 0
  br i1 %36, label %44, label %28

37:
  %38 = phi i32 [ %39, %37 ], [ %2, %3 ]
  %39 = add i32 %38, -1
  %40 = getelementptr inbounds nuw i8, ptr %1, i32 %39
  %41 = load i8, ptr %40, align 1
  %42 = getelementptr inbounds nuw i8, ptr %0, i32 %39
  store i8 %41, ptr %42, align 1
  %43 = icmp eq i32 %39, 0
  br i1 %43, label %44, label %37

44:
  ret ptr %0
}

define hidden noundef ptr @memset(ptr noundef returned writeonly captures(ret: address, provenance) %0, i32 noundef %1, i32 noundef %2) local_unnamed_addr #3 {
  %4 = icmp eq i32 %2, 0
  br i1 %4, label %7, label %5

5:
  %6 = trunc i32 %1 to i8
  br label %8

7:
  ret ptr %0

8:
  %9 = phi ptr [ %0, %5 ], [ %11, %8 ]
  %10 = phi i32 [ %2, %5 ], [ %12, %8 ]
  %11 = getelementptr inbounds nuw i8, ptr %9, i32 1
  store i8 %6, ptr %9, align 1
  %12 = add i32 %10, -1
  %13 = icmp eq i32 %12, 0
  br i1 %13, label %7, label %8
}

declare i32 @llvm.ctlz.i32(i32, i1 immarg) #4

declare i64 @llvm.ctlz.i64(i64, i1 immarg) #4

declare i32 @llvm.abs.i32(i32, i1 immarg) #5

declare i64 @llvm.abs.i64(i64, i1 immarg) #5

declare i64 @llvm.fshl.i64(i64, i64, i64) #6

declare double @llvm.fabs.f64(double) #6

attributes #0 = { nofree norecurse nosync nounwind optsize memory(none) "no-builtins" }
attributes #1 = { mustprogress nofree norecurse nosync nounwind optsize willreturn memory(none) "no-builtins" }
attributes #2 = { nofree norecurse nosync nounwind optsize memory(argmem: readwrite) "no-builtins" }
attributes #3 = { nofree norecurse nosync nounwind optsize memory(argmem: write) "no-builtins" }
attributes #4 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #5 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #6 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

